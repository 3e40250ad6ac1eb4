"""A clock that is set back or forward under a run."""

import os
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from toy_workspace import git

from containers.job import Reason
from containers.lines import Watch
from flows.budget import Budget
from lineage import run_tags, runs

NOW = datetime(2026, 11, 30, 16, 1, 2, tzinfo=UTC)


def begin(workspace: Path, now: datetime) -> runs.Run:
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=now)
    shutil.copyfile(workspace / "environments.yaml", run.tree / "environments.yaml")
    return run


@pytest.mark.parametrize("jump", [-timedelta(days=400), -timedelta(seconds=1), timedelta(0)])
def test_the_newest_run_is_the_last_whatever_the_clock_says(workspace: Path, jump: timedelta):
    first = begin(workspace, NOW)
    runs.close(first, None)
    second = begin(workspace, NOW + jump)  # while it is under way, by its folder
    third = begin(workspace, NOW + jump)
    assert first.id < second.id < third.id
    assert second.started == (NOW + jump).isoformat()  # the clock's own word is kept
    for run in (second, third):
        runs.close(run, None)
    assert [one.id for one in run_tags.list_runs(workspace)] == [third.id, second.id, first.id]


def test_the_last_day_of_all_stops_nobody(workspace: Path):
    runs.close(begin(workspace, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)), None)
    assert begin(workspace, NOW).id.startswith("20261130T160102-toy-")


def test_a_tag_without_a_record_of_its_run_moves_no_later_run(workspace: Path):
    first = begin(workspace, NOW)
    runs.close(first, None)
    body = git(workspace, "for-each-ref", "--format=%(contents)", f"refs/tags/run/{first.id}")
    git(workspace, "tag", "run/20991231T000000-toy-00000000")  # not annotated
    git(workspace, "tag", "-a", "-m", "Hello", "run/20991230T000000-toy-00000000")
    git(workspace, "tag", "-a", "-m", body, "run/20991229T000000-toy-00000000")  # of another run
    git(workspace, "tag", "run/99999999T999999-toy-00000000")
    git(workspace, "tag", "run/zzz")
    second = begin(workspace, NOW)  # of the same second: the tag of the first still counts
    assert second.id.startswith("20261130T160103-toy-")
    runs.close(second, None)
    assert run_tags.list_runs(workspace)[0].id == second.id


@pytest.mark.parametrize("jump_s", [-(10**8), 10**8])
def test_time_that_is_left_is_not_the_clocks(monkeypatch: pytest.MonkeyPatch, jump_s: int):
    import threading

    budget, watch = Budget("10m"), Watch(600, threading.Event())
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump_s)
    assert 590 < budget.left_s() <= 600
    assert watch.verdict() is None
    assert Watch(0, threading.Event()).verdict() is Reason.TIMED_OUT


@pytest.mark.parametrize("age_s", [-(10**8), 10**8])
def test_the_age_of_a_folder_makes_nobody_dead(workspace: Path, age_s: int):
    """A living run's folder that looks old stays; a dead one's that looks new goes."""
    alive = begin(workspace, NOW)
    dead = workspace / runs.MAKING / "gone|boot|pid:[1]|1|1|20261130T160102-toy-00000000"
    ours = workspace / runs.MAKING / f"{runs.Owner.me()}|20261130T160102-toy-11111111"
    for folder in (dead, ours):
        folder.mkdir(parents=True)
    host = f"{runs.Owner.me()}".split("|")[0]
    dead = dead.rename(dead.with_name(dead.name.replace("gone", host, 1)))
    now = time.time()
    for folder in (alive.folder, dead, ours):
        os.utime(folder, (now - age_s, now - age_s))
    assert runs.reconcile(workspace) == ()
    assert alive.tree.exists()
    assert (dead.exists(), ours.exists()) == (False, True)
    runs.close(alive, None)
