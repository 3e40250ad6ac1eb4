"""A throwaway workspace, and a disk of a few MiB, for each test that breaks one."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / room) for room in ("lineage", "containers")]

from killable import Toy  # noqa: E402
from toy_workspace import fill_workspace  # noqa: E402

from bench.rig import toy_case  # noqa: E402
from bench.rig.toy_mother import Mother  # noqa: E402
from containers.engine import Client  # noqa: E402


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


@pytest.fixture(scope="session")
def mother(tmp_path_factory: pytest.TempPathFactory, api: str) -> Iterator[Mother]:
    scratch = tmp_path_factory.mktemp("mother")
    mother = Mother(scratch, toy_case.environment(scratch, api))
    yield mother
    mother.close()


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_case.make(tmp_path_factory.mktemp("template") / "workspace")


@pytest.fixture
def toy(_template: Path, tmp_path: Path, mother: Mother) -> Toy:
    """A workspace; its runs are processes of the host."""
    return Toy(_copied(_template, tmp_path), mother, None)


@pytest.fixture
def boxed(_template: Path, tmp_path: Path, mother: Mother, engine: Client) -> Iterator[Toy]:
    """The same where there is an engine; no container of it stays."""
    toy = Toy(_copied(_template, tmp_path), mother, engine)
    yield toy
    left = toy.containers()
    for one in left:
        engine.remove_container(one["Id"], force=True)
    assert not left, [one["Names"] for one in left]


def _copied(template: Path, folder: Path) -> Path:
    root = folder / "workspace"
    shutil.copytree(template, root, symlinks=True)
    os.utime(root / ".git/index")
    return root
