"""A real disk without room: the place is named, nothing is half there, and with room it goes on."""

import dataclasses
import errno
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from toy_repeat import toy_run
from toy_run import advance, begin, engine_of, finish, whole_run
from toy_workspace import FakeRunner, fill_workspace, git, quiet, toy_rows

from containers.docker_runner import DockerRunner
from flows.commands import export, lineage
from lineage import runs
from lineage.disk import DiskRefuses, writes
from lineage.engine import Engine
from lineage.execute import StageFailed
from lineage.verify import verify_run

BIG = """
def run(params, inputs, into):
    with open(into + "/report.json", "wb") as file:
        for _ in range(40): file.write(bytes(100_000))
    import os; os.mkdir(into + "/pictures"); open(into + "/pictures/a", "w").write("x")
"""
SCRATCH = """
def run(params, inputs, into):
    with open("/tmp/scratch", "wb") as file:
        for _ in range(80): file.write(bytes(1_000_000))
"""


@pytest.fixture
def small(disk: Path) -> Path:
    """A workspace on a disk of its own."""
    root = disk / "workspace"
    root.mkdir()
    return fill_workspace(root)


def leave(disk: Path, free_bytes: int) -> Path:
    """Fill a disk but for so much; returns what fills it."""
    filler = disk / "filler"
    there = filler.stat().st_blocks * 512 if filler.exists() else 0
    status = os.statvfs(disk)
    size_bytes = there + status.f_bavail * status.f_frsize - free_bytes
    with filler.open("ab") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    return filler


def test_a_worktree_that_does_not_fit_is_told_in_one_line_and_leaves_nothing(disk, small):
    data = small / "cases/toy/data.txt"
    data.write_text("12345" * 100_000)
    git(small, "commit", "-qam", "Half a MiB")
    filler = leave(disk, 200 * 2**10)
    with pytest.raises(DiskRefuses) as told:
        begin(small)
    said = str(told.value)
    assert "\n" not in said
    assert "fatal" not in said
    assert f"The folder of runs, {small}/.assay/runs, cannot be written to: No space left" in said
    assert "MiB are free" in said
    assert "assay prune" in said
    assert told.value.exit_status == 3
    assert not list((small / ".assay/runs").iterdir())
    assert git(small, "worktree", "list").count("\n") == 0
    filler.unlink()
    run = whole_run(small)
    assert verify_run(small, run).is_whole


def test_a_repository_that_is_read_only_is_named_and_not_the_folder_of_runs(disk, workspace):
    kept = disk / "kept"
    shutil.move(workspace / ".git", kept)
    (workspace / ".git").write_text(f"gitdir: {kept}\n")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for edited in (False, True):
        if edited:
            (workspace / "cases/toy/data.txt").write_text("other")
        with pytest.raises(DiskRefuses) as told:
            begin(workspace)
        said = f"The repository, {kept}, cannot be written to: Read-only file system. Make it writ"
        assert str(told.value).startswith(said)
        assert "Make room" not in str(told.value)
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    whole_run(workspace)


def test_a_folder_that_is_anothers_is_told_and_a_file_that_may_not_be_read_is_not(
    tmp_path, monkeypatch
):
    def refused() -> None:
        with writes("The folder of runs", tmp_path / "runs"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "some file")

    monkeypatch.setattr(os, "access", lambda place, _how: place != tmp_path)
    with pytest.raises(DiskRefuses, match=r"runs, cannot.*Permission denied\. Make it writable"):
        refused()
    monkeypatch.setattr(os, "access", lambda _place, _how: True)
    with pytest.raises(PermissionError):
        refused()


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        ("elsewhere", r"The disk of .*jobs/first-.* is full\. .* MiB are free"),
        ("disk", r"worktree of the run, .*: No space left.* MiB are free"),
    ],
    ids=["its log fits", "its log does not fit"],
)
def test_a_stage_that_fills_the_disk_of_its_staging_folder_is_told_so(disk, small, logs, said):
    run = begin(small)
    (run.tree / "toys/first.py").write_text(BIG)
    filler = leave(disk, 3 * 2**20)
    place = disk.parent / logs / "logs"
    engine = Engine(run.tree, runner=FakeRunner(), run_id=run.id, logs=place)
    with pytest.raises((StageFailed, DiskRefuses), match=said):
        advance(engine)
    assert not (run.tree / toy_rows()[0].folder).exists()
    assert not list((run.tree / ".assay/jobs").iterdir())
    assert not list((small / ".dvc/cache").rglob("*.tmp"))
    filler.unlink()
    outcomes = advance(engine_of(run))
    assert [one.how for one in outcomes] == ["ran", "ran"]
    assert verify_run(small, finish(run, outcomes)).is_whole


@pytest.mark.parametrize("part", ["record", "write_lock"], ids=["the run cache", "dvc.lock"])
def test_a_disk_that_is_full_when_a_stage_is_recorded(disk, small, monkeypatch, part: str):
    from lineage.dvc_repo import DvcRepo

    run = begin(small)
    lock = run.tree / "cases/toy/dvc.lock"
    first, second = toy_rows()
    engine = engine_of(run)
    engine.advance(first, on_line=quiet, cancel=threading.Event())
    before = lock.read_bytes()
    real = getattr(DvcRepo, part)

    def full_by_now(*args, **more):
        leave(disk, 0)
        return real(*args, **more)

    monkeypatch.setattr(DvcRepo, part, full_by_now)
    with pytest.raises(Exception, match=r"No space left.*run again: what was finished") as told:
        engine.advance(second, on_line=quiet, cancel=threading.Event())
    assert told.value.exit_status == 3
    assert lock.read_bytes() == before
    assert not (run.tree / second.folder).exists()
    assert not list(lock.parent.glob(".dvc.lock.*"))
    monkeypatch.undo()
    (disk / "filler").unlink()
    again = engine.advance(second, on_line=quiet, cancel=threading.Event())
    assert again.how in {"ran", "restored"}
    assert (run.tree / second.folder / "report.json").read_text() == "second of 10"
    runs.close(run, None)


def test_a_run_that_has_no_room_for_its_tag_is_closed_when_there_is(disk, small):
    run = begin(small)
    outcomes = advance(engine_of(run))
    filler = leave(disk, 0)
    with pytest.raises(DiskRefuses, match=r"repository.*No space left.*MiB are free") as told:
        finish(run, outcomes)
    assert "\n" not in str(told.value)
    assert git(small, "tag") == ""
    filler.unlink()
    assert verify_run(small, finish(run, outcomes)).is_whole
    assert not run.folder.exists()


@pytest.mark.docker
def test_a_container_that_fills_its_scratch_is_told_which_disk_was_full(engine, workspace: Path):
    runner = DockerRunner(engine)
    run = begin(workspace)
    (run.tree / "environments.yaml").write_text(f"base: {runner.environment_key('base')}\n")
    (run.tree / "toys/first.py").write_text(SCRATCH)
    first = dataclasses.replace(toy_rows()[0], memory_bytes=128 * 2**20)
    with pytest.raises(StageFailed, match=r"No space left.*free; /tmp in its container holds half"):
        engine_of(run, runner).advance(first, on_line=quiet, cancel=threading.Event())
    assert not (run.tree / first.folder).exists()
    runs.close(run, None)


def test_an_export_and_a_picture_without_room_leave_the_earlier_ones(disk, workspace, monkeypatch):
    run = toy_run(workspace)
    monkeypatch.setattr(export.workspace, "find", lambda _start: workspace)
    monkeypatch.setattr(lineage.workspace, "find", lambda _start: workspace)
    places = {"ro-crate": disk / "crate", "in-toto": disk / "told.json", "zip": disk / "crate.zip"}
    picture = disk / "picture.svg"

    def write(form: str) -> int:
        if form == "picture":
            return lineage.lineage(run.id, str(picture), quiet)[2]
        return export.export(run.id, form.replace("zip", "ro-crate"), str(places[form]))[2]

    forms = [*places, "picture"]
    assert [write(form) for form in forms] == [0, 0, 0, 0]
    before = sorted(path.name for path in disk.iterdir())
    drawn = picture.read_bytes()
    filler = leave(disk, 0)
    for form in forms:
        with pytest.raises(DiskRefuses, match=r"folder, .*No space left.*MiB are free") as told:
            write(form)
        assert str(disk) in str(told.value)
        assert "\n" not in str(told.value)
    assert sorted(path.name for path in disk.iterdir()) == sorted([*before, "filler"])
    assert all(export.check(str(path))[2] == 0 for path in places.values())
    assert picture.read_bytes() == drawn
    filler.unlink()
    assert [write(form) for form in forms] == [0, 0, 0, 0]
