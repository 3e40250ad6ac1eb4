"""A run has a worktree of its own, and ends as a tag."""

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from toy_workspace import FakeRunner, dvc, git, quiet, toy_rows

from containers.owner import Owner, started
from containers.reap import LOGS, WORKSPACE_LABEL, label_of
from flows.commands.verify import verify
from lineage import runs
from lineage.artifacts import ArtifactMissing
from lineage.engine import NOTES, Engine
from lineage.provenance import Provenance, RunRecord

NOW = datetime(2026, 11, 30, 16, 1, 2, tzinfo=UTC)
REPORT = "cases/toy/artifacts/second/report.json"
CRASH = Path(__file__).with_name("crash.py")


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())


def create(workspace: Path) -> runs.Run:
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=NOW)
    shutil.copyfile(workspace / "environments.yaml", run.tree / "environments.yaml")
    return run


def advance(run: runs.Run, workspace: Path) -> list:
    engine = Engine(
        run.tree, runner=FakeRunner(), run_id=run.id, logs=workspace / ".assay/logs" / run.id
    )
    return [engine.advance(one, on_line=quiet, cancel=threading.Event()) for one in toy_rows()]


def record(run: runs.Run, outcomes=(), **other) -> RunRecord:
    known = {
        "id": run.id,
        "case": run.case,
        "state": "done",
        "verdict": "closed",
        "sentence": "The gap is preprocessing.",
        "commit": run.commit,
        "parent": run.parent,
        "dirty": list(run.dirty),
        "isolation": "process",
        "started": run.started,
        "ended": run.started,
        "stages": [one.provenance for one in outcomes],
    }
    return RunRecord(**(known | other))


def test_a_run_shows_its_case_and_hides_the_others(workspace: Path):
    run = create(workspace)
    assert run.id.startswith("20261130T160102-toy-")
    assert (run.tree / "cases/toy/data.txt").exists()
    assert not (run.tree / "cases/other").exists()
    assert git(run.tree, "status", "--porcelain") == ""
    runs.close(run, None)


def test_a_run_ends_as_a_tag_and_leaves_no_worktree(workspace: Path):
    config = (workspace / ".git/config").read_bytes()
    head, branch = git(workspace, "rev-parse", "HEAD"), git(workspace, "branch", "--show-current")
    (workspace / "cases/toy/data.txt").write_text("dirty")
    run = create(workspace)
    outcomes = advance(run, workspace)
    assert runs.close(run, record(run, outcomes)) == f"run/{run.id}"
    assert not run.folder.exists()
    assert git(workspace, "worktree", "list").count("\n") == 0
    names = git(workspace, "ls-tree", "-r", "--name-only", f"run/{run.id}").split()
    assert {"cases/toy/dvc.lock", "cases/toy/run.json", "cases/other/data.txt"} <= set(names)
    assert not any("report.json" in name for name in names)
    assert git(workspace, "rev-parse", f"run/{run.id}~2") == head == run.parent
    assert git(workspace, "branch", "--show-current") == branch
    assert git(workspace, "status", "--porcelain") == "M cases/toy/data.txt"
    assert (workspace / ".git/config").read_bytes() == config


def test_a_second_worktree_restores_what_the_first_made(workspace: Path):
    first = create(workspace)
    made = advance(first, workspace)
    runs.close(first, record(first, made))
    second = create(workspace)
    outcomes = advance(second, workspace)
    assert [one.how for one in outcomes] == ["restored", "restored"]
    assert outcomes[0].provenance.from_run == first.id
    assert outcomes[0].provenance.inside == made[0].provenance.inside
    assert (second.tree / REPORT).read_text() == "second of 10"
    assert "up to date" in dvc(second.tree, "status")
    runs.close(second, None)


def test_a_run_is_read_by_id_beginning_or_latest(workspace: Path):
    run = create(workspace)
    whole = record(run, advance(run, workspace))
    runs.close(run, whole)
    for which in (run.id, run.id[:8], "latest"):
        assert runs.read_run(workspace, which) == whole
    [listed] = runs.list_runs(workspace)
    assert (listed.id, listed.verdict, listed.stages) == (run.id, "closed", [])
    with pytest.raises(runs.RunUnknown, match=run.id):
        runs.read_run(workspace, "1999")
    for which in ("", "run/", "2", run.id[:7], f"run/{run.id[:7]}"):  # though one run begins so
        with pytest.raises(runs.RunUnknown, match=r"at least 8 characters.*Got: ") as refused:
            runs.read_run(workspace, which)
        assert refused.value.exit_status == 2


def test_an_empty_name_is_verified_as_no_run(workspace: Path, monkeypatch):
    run = create(workspace)
    runs.close(run, record(run))
    monkeypatch.setattr("flows.workspace.find", lambda _start: workspace)
    assert verify(None, False, print)[2] == 0
    with pytest.raises(runs.RunUnknown, match="Got: an empty name"):
        verify("", False, print)


def test_a_report_is_brought_out_of_the_cache_and_is_no_link_into_it(workspace: Path):
    run = create(workspace)
    runs.close(run, record(run, advance(run, workspace)))
    path = runs.open_artifact(workspace, "latest", REPORT)
    assert path == workspace / ".assay/reports" / run.id / REPORT
    assert path.read_text() == "second of 10"
    assert path.stat().st_nlink == 1
    with pytest.raises(ArtifactMissing, match=r"There it made: .*report\.json"):
        runs.open_artifact(workspace, "latest", "cases/toy/artifacts/second/other.json")


def test_a_damaged_cache_object_is_not_shown(workspace: Path):
    run = create(workspace)
    runs.close(run, record(run, advance(run, workspace)))
    for path in (workspace / ".dvc/cache/files/md5").rglob("*"):
        if path.is_file() and path.read_bytes() == b"second of 10":
            path.chmod(0o644)
            path.write_bytes(b"second of 11")
            path.chmod(0o444)
    with pytest.raises(ArtifactMissing, match="damaged"):
        runs.open_artifact(workspace, "latest", REPORT)


def test_an_abandoned_run_keeps_the_stages_that_finished(workspace: Path):
    run = create(workspace)
    advance(run, workspace)
    runs.close(run, record(run, state="failed", verdict=None, error="no luck"))
    assert runs.read_run(workspace, run.id).state == "failed"
    assert runs.open_artifact(workspace, run.id, REPORT).exists()


def test_data_under_dvc_stands_in_the_worktree(workspace: Path):
    (workspace / "cases/toy/raw.bin").write_bytes(b"raw")
    dvc(workspace, "add", "-q", "cases/toy/raw.bin")
    run = create(workspace)
    assert (run.tree / "cases/toy/raw.bin").read_bytes() == b"raw"
    runs.close(run, None)


def test_a_process_in_the_worktree_is_led_out_of_it(workspace: Path):
    run = create(workspace)
    os.chdir(run.tree)
    runs.close(run, None)
    assert Path.cwd() == workspace


def _start(workspace: Path, how: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(CRASH), str(workspace), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_run_is_closed_by_the_next_start(workspace: Path):
    with _start(workspace, "die") as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == -9, said
    assert runs.list_runs(workspace) == []
    [closed] = runs.reconcile(workspace)
    found = runs.read_run(workspace, closed)
    assert found.state == "failed"
    assert [stage.name for stage in found.stages] == ["first"]
    assert list((workspace / runs.RUNS).iterdir()) == []
    assert runs.reconcile(workspace) == ()
    run = create(workspace)
    assert not (run.tree / REPORT).exists()
    assert [one.how for one in advance(run, workspace)] == ["restored", "ran"]
    runs.close(run, None)


def test_a_living_run_is_left_alone(workspace: Path):
    run = create(workspace)
    assert runs.reconcile(workspace) == ()
    assert run.tree.exists()
    runs.close(run, None)


def _kill(run: runs.Run) -> None:
    """Make a run's owner a process that is gone."""
    (run.folder / "owner").write_text(str(replace(Owner.me(), started="1")))


def test_a_run_killed_after_its_tag_is_only_cleared_away(workspace: Path, monkeypatch):
    run = create(workspace)
    monkeypatch.setattr(runs, "_remove", lambda _run: None)
    runs.close(run, record(run))
    monkeypatch.undo()
    _kill(run)
    assert runs.reconcile(workspace) == (run.id,)
    assert runs.read_run(workspace, run.id).sentence == "The gap is preprocessing."
    assert not run.folder.exists()


def test_a_run_is_closed_twice_and_the_first_word_stands(workspace: Path):
    run = create(workspace)
    os.chdir(run.tree)
    assert runs.close(run, record(run)) == runs.close(run, None) == f"run/{run.id}"
    assert runs.read_run(workspace, run.id).verdict == "closed"


@pytest.mark.parametrize("text", ["", '{"name": "fir', "{}"], ids=["empty", "cut", "foreign"])
def test_a_note_that_was_cut_is_left_out_of_the_obituary(workspace: Path, text: str):
    run = create(workspace)
    advance(run, workspace)
    (run.tree / NOTES / "first.json").write_text(text)
    _kill(run)
    assert runs.reconcile(workspace) == (run.id,)
    assert [stage.name for stage in runs.read_run(workspace, run.id).stages] == ["second"]


def test_a_note_is_there_whole_or_not_at_all(workspace: Path, monkeypatch):
    run = create(workspace)
    monkeypatch.setattr(Path, "replace", lambda *_: pytest.fail("killed"))
    engine = Engine(run.tree, runner=FakeRunner(), run_id=run.id, logs=workspace / ".assay/logs")
    with pytest.raises(pytest.fail.Exception):
        engine._note(Provenance.model_construct(name="first"))
    assert not (run.tree / NOTES / "first.json").exists()


def test_one_dead_run_that_cannot_be_closed_stops_no_other(workspace: Path):
    broken, other = create(workspace), create(workspace)
    (broken.folder / "run.json").write_text("{}")
    for run in (broken, other):
        _kill(run)
    said: list[str] = []
    assert runs.reconcile(workspace, said.append) == (other.id,)
    assert broken.id in said[0]


def test_a_git_that_was_killed_in_the_worktree_does_not_cost_the_locks(workspace: Path):
    run = create(workspace)
    advance(run, workspace)
    index = git(run.tree, "rev-parse", "--path-format=absolute", "--git-path", "index")
    Path(f"{index}.lock").touch()
    _kill(run)
    assert runs.reconcile(workspace) == (run.id,)
    assert "first:" in git(workspace, "show", f"run/{run.id}:cases/toy/dvc.lock")


def test_a_tag_holds_the_environments_that_git_ignores(workspace: Path):
    assert git(workspace, "check-ignore", "environments.yaml")
    run = create(workspace)
    runs.close(run, record(run))
    assert git(workspace, "show", f"run/{run.id}:environments.yaml") == "base: process:fake"


def _begin_and_die(workspace: Path, runner: str) -> str:
    """Start a stage that sleeps, kill what started it, and return the job's name."""
    begin = subprocess.Popen(
        [sys.executable, str(CRASH), str(workspace), runner], stdout=subprocess.PIPE, text=True
    )
    with begin as process:
        name = process.stdout.readline().strip()
        process.kill()
    return name


def test_the_orphan_of_a_killed_process_is_ended_by_the_next_start(workspace: Path):
    name, pid = _begin_and_die(workspace, "process").split()
    assert name.startswith("assay-")
    assert started(int(pid)) is not None
    [closed] = runs.reconcile(workspace)
    assert closed in name
    give_up = time.monotonic() + 30
    while started(int(pid)) is not None:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert not list((workspace / LOGS).rglob(".*.fence"))


@pytest.mark.docker
def test_the_orphan_of_a_killed_process_is_ended_in_its_container(workspace: Path, engine):
    name = _begin_and_die(workspace, "docker").split()[0]
    ours = {"label": f"{WORKSPACE_LABEL}={label_of(workspace)}"}
    assert [one["Names"] for one in engine.containers(filters=ours)] == [[f"/{name}"]]
    runs.reconcile(workspace)
    assert engine.containers(all=True, filters=ours) == []


def test_without_an_engine_there_is_no_wait(workspace: Path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{workspace}/none.sock")
    (workspace / ".assay").mkdir()
    began = time.monotonic()
    assert runs.reconcile(workspace) == ()
    assert time.monotonic() - began < 1.5


def test_two_processes_at_once_both_finish_and_a_third_restores(workspace: Path):
    started = [_start(workspace, "run") for _ in range(2)]
    said = [process.communicate(timeout=240) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert len(runs.list_runs(workspace)) == 2
    with _start(workspace, "run") as third:
        out, _ = third.communicate(timeout=120)
    assert out.split()[1:] == ["restored", "restored"]


def test_two_hundred_runs_are_listed_newest_first(workspace: Path):
    head = git(workspace, "rev-parse", "HEAD")
    known = {"case": "toy", "state": "done", "sentence": "s", "commit": head, "parent": head}
    lines = ""
    for number in range(200):
        run_id = f"20261130T{number:06}-toy-0000"
        one = RunRecord(id=run_id, isolation="process", started="t", ended="t", **known)
        message = f"toy\n\n{one.model_dump_json()}\n"
        lines += (
            f"tag run/{run_id}\nfrom {head}\ntagger A <a@b> 1 +0000\n"
            f"data {len(message)}\n{message}\n"
        )
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=workspace, input=lines, text=True, check=True
    )
    listed = runs.list_runs(workspace)
    assert len(listed) == 200
    assert [one.id for one in listed] == sorted((one.id for one in listed), reverse=True)
