"""A full or read-only cache is told in one line, and costs nothing but its own time."""

import errno
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_workspace import FakeRunner, quiet, toy_rows

from lineage import atomic
from lineage.cache_writes import CacheUnwritable, cache_writes
from lineage.engine import Engine
from lineage.link_types import link_types

MANY = """
def run(params, inputs, into):
    open(into + "/report.json", "w").write("new")
    import os; os.mkdir(into + "/pictures")
    for i in range(8): open(f"{into}/pictures/{i}", "wb").write(bytes([i]) * 300_000)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid() != 0 or not _mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)):
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def _mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


def _engine(workspace: Path, cache: Path) -> Engine:
    logs = workspace / ".assay/logs"
    return Engine(workspace, runner=FakeRunner(), run_id="r", logs=logs, cache_dir=cache)


def _how(engine: Engine) -> str:
    return engine.advance(toy_rows()[0], on_line=quiet, cancel=threading.Event()).how


@pytest.mark.parametrize(
    ("refusing", "mending", "words"),
    [("size=1m", "size=64m", "No space left"), ("ro", "rw,size=64m", "Read-only file system")],
    ids=["full", "read-only"],
)
def test_a_disk_that_refuses(disk, workspace, caplog, refusing, mending, words):  # noqa: PLR0917
    assert _how(_engine(workspace, disk / "cache")) == "ran"
    former = (workspace / toy_rows()[0].folder / "report.json").read_text()
    lock = (workspace / "cases/toy/dvc.lock").read_bytes()
    (workspace / "toys/first.py").write_text(MANY)
    assert _mount("-o", f"remount,{refusing}", str(disk))
    with pytest.raises(CacheUnwritable, match=rf"{disk}/cache .*{words}.* MiB free.*run again"):
        _how(_engine(workspace, disk / "cache"))
    assert (workspace / toy_rows()[0].folder / "report.json").read_text() == former
    assert (workspace / "cases/toy/dvc.lock").read_bytes() == lock
    assert not list(disk.rglob("*.tmp"))
    assert not caplog.records
    assert _mount("-o", f"remount,{mending}", str(disk))
    assert _how(_engine(workspace, disk / "cache")) == "ran"
    shutil.rmtree(workspace / toy_rows()[0].folder)
    assert _how(_engine(workspace, disk / "cache")) == "restored"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("part", ["/runs/", "/assay/"], ids=["the run cache", "provenance"])
def test_a_disk_that_refuses_the_last_small_file(workspace: Path, monkeypatch, number, part):
    write = atomic.write

    def refuse(path: Path, text: str, **kinds: bool) -> None:
        if f"/cache{part}" in str(path):
            raise OSError(number, os.strerror(number))
        write(path, text, **kinds)

    monkeypatch.setattr(atomic, "write", refuse)
    with pytest.raises(CacheUnwritable) as told:
        _how(_engine(workspace, workspace / ".dvc/cache"))
    assert told.value.exit_status == 3
    assert not (workspace / "cases/toy/dvc.lock").exists()
    assert not (workspace / toy_rows()[0].folder).exists()
    monkeypatch.undo()
    assert _how(_engine(workspace, workspace / ".dvc/cache")) == "ran"


def test_a_run_does_not_begin_on_a_read_only_cache(disk: Path):
    assert _mount("-o", "remount,ro", str(disk))
    with pytest.raises(CacheUnwritable, match="Read-only"):
        link_types(disk / "cache")


def test_another_error_is_left_as_it_is(tmp_path: Path):
    with pytest.raises(ValueError, match="mine"), cache_writes(tmp_path):
        raise ValueError("mine")
