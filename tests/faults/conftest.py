"""A throwaway workspace, and a disk of a few MiB, for each test that breaks one."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / "lineage")]

from toy_workspace import fill_workspace  # noqa: E402


@pytest.fixture(autouse=True)
def _no_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(Path.cwd())  # a run moves into its worktree


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return fill_workspace(root)


@pytest.fixture
def cancel() -> threading.Event:
    return threading.Event()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own; `mount -o remount,size=...` makes it larger or smaller."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place))
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk, and not in every container")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)
