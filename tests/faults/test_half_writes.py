"""Whatever moment a process is killed at, what is there is whole, and the next run goes on."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from killed_at import POINTS
from toy_run import advance, begin, engine_of, finish, logs_of
from toy_workspace import FakeRunner, git, quiet, toy_rows

from lineage import runs
from lineage.cache_sweep import sweep
from lineage.engine import Engine
from lineage.lock_text import LockBroken
from lineage.verify import verify_runs

KILLED = Path(__file__).with_name("killed_at.py")
LOCK = "cases/toy/dvc.lock"
MADE = "cases/toy/artifacts/second/report.json"


def kill(workspace: Path, point: str, where: str) -> None:
    words = [sys.executable, str(KILLED), str(workspace), point, where]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("point", POINTS)
def test_a_run_killed_at_any_point_of_recording_is_closed_and_goes_on(workspace, point: str):
    kill(workspace, point, "worktree")
    [dead] = runs.reconcile(workspace)
    assert runs.read_run(workspace, dead).state == "failed"
    assert not list((workspace / ".assay/runs").iterdir())
    assert verify_runs(workspace).is_whole  # what its tag says was made is there
    run = begin(workspace)
    outcomes = advance(engine_of(run))
    known = point in {"in the run cache", "amid dvc.lock", "before the journal", "recorded"}
    assert [one.how for one in outcomes] == ["restored", "restored" if known else "ran"]
    assert (run.tree / MADE).read_text() == "second of 10"
    finish(run, outcomes)
    assert verify_runs(workspace).is_whole
    cached = (workspace / ".dvc/cache").rglob(".*")
    assert not [path for path in cached if path.name != ".gitignore"]
    assert git(workspace, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("point", ["renamed", "amid dvc.lock", "before the journal"])
def test_a_workspace_in_which_a_stage_was_killed_is_brought_up_to_date(workspace, point: str):
    kill(workspace, point, "workspace")
    logs = logs_of(workspace, "again")
    engine = Engine(workspace, runner=FakeRunner(), run_id="again", logs=logs)
    assert advance(engine)[0].how == "unchanged"
    assert (workspace / MADE).read_text() == "second of 10"
    assert [one.how for one in advance(engine)] == ["unchanged", "unchanged"]
    assert (workspace / LOCK).read_text() == (workspace / ".assay/journal" / LOCK).read_text()
    assert not list((workspace / LOCK).parent.glob(".dvc.lock.*"))
    assert not list((workspace / ".assay/jobs").iterdir())


@pytest.mark.parametrize("left", ["", "schema: '2.0'\nsta"], ids=["nothing", "half of it"])
def test_a_lock_that_a_full_disk_cut_off_comes_back_from_its_journal(workspace, left: str):
    """DVC truncates it in place; what a full disk left of it is no lock."""
    logs = logs_of(workspace, "r")
    advance(Engine(workspace, runner=FakeRunner(), run_id="r", logs=logs))
    whole = (workspace / LOCK).read_text()
    (workspace / LOCK).write_text(left)
    fresh = Engine(workspace, runner=FakeRunner(), run_id="r2", logs=logs)
    assert [one.how for one in advance(fresh)] == ["unchanged", "unchanged"]
    assert (workspace / LOCK).read_text() == whole


def test_without_a_journal_the_lock_is_named_with_what_to_do(workspace: Path):
    (workspace / LOCK).write_text("schema: '2.0'\nsta")
    engine = Engine(workspace, runner=FakeRunner(), run_id="r", logs=logs_of(workspace, "r"))
    with pytest.raises(LockBroken, match=r"cases/toy/dvc\.lock is empty or broken.*git checkout"):
        engine.advance(toy_rows()[0], on_line=quiet, cancel=threading.Event())


def test_what_the_dead_left_in_a_cache_goes_and_what_the_living_write_stays(tmp_path: Path):
    cache = tmp_path.resolve() / "cache"
    names = [
        "files/md5/ab/.Xy12.tmp",
        "runs/ab/abc/.def.a1b2c3d4",
        "assay/ab/.abc.json.a1b2c3d4",
        "files/md5/ab/cdef",
        "files/md5/ab/.open.tmp",
    ]
    for name in names:
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_text("half")
    (cache / ".probe-1").mkdir()
    assert sweep(cache, shared=True) == []  # another host may be writing them
    with (cache / names[-1]).open():
        gone = sweep(cache, shared=False)
    assert {path.name for path in gone} == {
        ".Xy12.tmp",
        ".def.a1b2c3d4",
        ".abc.json.a1b2c3d4",
        ".probe-1",
    }
    assert sorted(path.name for path in cache.rglob("*") if path.is_file()) == [".open.tmp", "cdef"]
