"""A run repeated in a clean clone: what is the same, what is not, and what is kept of it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy_repeat import toy_run
from toy_workspace import FIRST, FakeRunner, dvc, git

from containers.owner import Owner, started
from flows.cli_words import CANCELLED, answer
from flows.commands import reproduce as command
from flows.commands.reproduce import _lines, markdown
from flows.reproduce import (
    NotReproducible,
    ReproductionBroke,
    _refuse_unfinished,
    _run_of,
    reproduce,
)
from lineage import git as repository
from lineage.artifacts import read_artifact
from lineage.cache_objects import place
from lineage.clean_clone import CleanClone, RawDataMissing, note_child, sweep
from lineage.dvc_repo import cache_of
from lineage.outputs_compared import Tolerance, _arrays, _texts
from lineage.run_tags import list_runs, read_run

REPORT = "cases/toy/artifacts/first/report.json"


def again(runner: FakeRunner | None = None, **stated):
    """How the toy case is run in the clone."""
    return lambda clone, record, say: toy_run(clone.root, runner=runner, **stated).id


def told(result) -> list[str]:
    return list(_lines(result))


def test_a_run_comes_out_the_same_from_nothing_but_its_commit_and_that_is_a_run_too(
    workspace: Path,
) -> None:
    old = toy_run(workspace)
    runner = FakeRunner()
    result = reproduce(workspace, "latest", print, start=again(runner))
    assert runner.ran == ["first", "second"]  # nothing was restored
    assert result.how == {"first": "ran", "second": "ran"}
    assert [(one.stage, one.same) for one in result.outputs] == [
        ("first", "identical"),
        ("second", "identical"),
    ]
    assert (result.status, result.sentence) == (0, "2 outputs: 2 identical.")
    assert any(line.split() == ["first", "ran", "identical"] for line in told(result))
    assert "| second | ran | identical |" in markdown(result)

    # The repetition is a run of its own that says of which.
    kept = read_run(workspace, result.run.id)
    assert (kept.of, kept.state, kept.commit) == (old.id, "done", old.commit)
    assert {run.id: run.of for run in list_runs(workspace)} == {old.id: None, kept.id: old.id}
    assert read_artifact(workspace, kept.id, REPORT) == read_artifact(workspace, old.id, REPORT)
    for stage in kept.stages:
        assert stage.log
        assert Path(stage.log).read_text().startswith("starting")
    assert git(workspace, "status", "--porcelain") == ""
    assert list((workspace / ".assay/reproduce").iterdir()) == []


def test_what_differs_is_named_by_file_and_value(workspace: Path, tmp_path: Path) -> None:
    slip = tmp_path / "slip"
    slip.write_text("5")  # what no stage should look at
    looks = FIRST.replace('len(inputs["data"])', f"int(open({str(slip)!r}).read())")
    (workspace / "toys/first.py").write_text(looks)
    git(workspace, "commit", "-qam", "A stage that looks beside its inputs")
    toy_run(workspace)
    slip.write_text("7")
    result = reproduce(workspace, "latest", print, start=again())
    assert result.status == 1
    assert [(one.stage, one.same) for one in result.outputs] == [
        ("first", "different"),
        ("second", "different"),
    ]
    report = result.outputs[0].files[0]
    assert (report.path, report.why) == (REPORT, "10 -> 14")
    assert read_artifact(workspace, result.run.id, REPORT) == b"14"  # kept, to be looked at


def test_a_repetition_that_restored_a_stage_proves_nothing(workspace: Path) -> None:
    toy_run(workspace)

    def start(clone, record, say):
        toy_run(clone.root)
        return toy_run(clone.root).id

    result = reproduce(workspace, "latest", print, start=start)
    assert result.status == 3
    assert result.sentence == "It proves nothing: not executed in the clone: first, second."


def test_one_that_breaks_says_so_and_is_kept(workspace: Path) -> None:
    toy_run(workspace)
    broken = {"state": "failed", "sentence": "second failed. Status 1.", "error": "second failed."}
    result = reproduce(workspace, "latest", print, start=again(**broken))
    assert (result.status, result.sentence) == (3, "It broke: second failed. Status 1.")
    assert read_run(workspace, result.run.id).state == "failed"


def test_what_has_no_whole_answer_is_not_repeated(workspace: Path) -> None:
    run = toy_run(workspace, partial="Ctrl-C")
    with pytest.raises(NotReproducible, match="is a partial answer"):
        reproduce(workspace, run.id, print, start=again())
    with pytest.raises(NotReproducible, match="it has no answer to reproduce"):
        _refuse_unfinished(run.model_copy(update={"state": "failed"}))


def test_what_a_killed_reproduction_left_is_swept_and_a_living_ones_is_not(tmp_path: Path) -> None:
    holders = [tmp_path / ".assay/reproduce" / name for name in ("dead", "alive", "making")]
    for holder in holders:
        (holder / "clone").mkdir(parents=True)
    me = str(Owner.me())
    gone = me.rsplit("|", 1)[0] + "|0"  # another process had this number
    (holders[0] / "owner").write_text(gone)
    (holders[1] / "owner").write_text(me)
    sweep(tmp_path)
    assert [holder.exists() for holder in holders] == [False, True, True]
    os.utime(holders[2], (0, 0))
    sweep(tmp_path)
    assert [holder.exists() for holder in holders] == [False, True, False]


CHILD = """
import os, pathlib, time
here = pathlib.Path.cwd()
(here / "ceiling").write_text(os.environ["GIT_CEILING_DIRECTORIES"])
(here.parent / "pid").write_text(str(os.getpid()))
time.sleep(600)
"""
KILLED = """
import sys
from pathlib import Path
from types import SimpleNamespace
from flows import reproduce
from lineage.clean_clone import CleanClone
reproduce.server.ensure = lambda *_: "http://127.0.0.1:1/api"
clone = CleanClone(Path(sys.argv[1]), ())
run = SimpleNamespace(case="toy", isolation="local", id="one")
reproduce._Child(clone.root).start(clone, run, print)
"""


def within(seconds: float, happens) -> bool:
    give_up = time.monotonic() + seconds
    while not happens() and time.monotonic() < give_up:
        time.sleep(0.02)
    return bool(happens())


def test_what_runs_in_a_clone_ends_with_a_reproduction_that_is_killed(tmp_path: Path) -> None:
    clone, pid = tmp_path / "clone", tmp_path / "pid"
    (clone / "flows").mkdir(parents=True)
    (clone / "flows/__init__.py").touch()
    (clone / "flows/__main__.py").write_text(CHILD)
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(clone)])
    assert within(60, lambda: pid.exists() and pid.read_text())
    child = int(pid.read_text())
    assert within(60, (tmp_path / "child").exists)
    assert started(child)
    killed.kill()
    killed.wait()
    assert within(60, lambda: started(child) is None)
    assert (clone / "ceiling").read_text() == str(tmp_path)


def test_what_still_runs_in_a_dead_ones_clone_ends_before_it_is_swept(tmp_path: Path) -> None:
    clone = CleanClone(tmp_path / ".assay/reproduce/dead/clone", ())
    clone.root.mkdir(parents=True)
    (clone.root.parent / "owner").write_text(str(Owner.me()).rsplit("|", 1)[0] + "|0")
    child = subprocess.Popen(["/bin/sleep", "600"], cwd=clone.root, start_new_session=True)
    note_child(clone, child.pid)
    sweep(tmp_path)
    assert child.wait(30) == -signal.SIGTERM
    assert not clone.root.exists()


def test_git_in_a_clone_finds_no_repository_above_it(workspace: Path, monkeypatch) -> None:
    within_it = workspace / "holder/clone"
    within_it.mkdir(parents=True)
    assert repository.text(within_it, "rev-parse", "--show-toplevel") == str(workspace)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(within_it.parent))
    with pytest.raises(repository.GitError, match="not a git repository"):
        repository.text(within_it, "rev-parse", "--show-toplevel")


def test_one_that_is_told_to_end_ends_as_by_ctrl_c(monkeypatch) -> None:
    def told_to_end(*_words, **_stated):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(command, "repeat", told_to_end)
    monkeypatch.setattr(command.workspace, "find", lambda _start: Path())
    with pytest.raises(SystemExit) as ended:
        answer(False, "reproduce", "reproduce", "latest", print, False)
    assert ended.value.code == CANCELLED
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_engine_that_is_away_is_said_and_nothing_else_stands_in(workspace: Path) -> None:
    record = toy_run(workspace).model_copy(update={"isolation": "docker"})
    told = json.dumps({"error": "No Docker engine answers.", "status": 2})
    with pytest.raises(NotReproducible, match=r"made in containers .* No Docker engine answers\."):
        _run_of(record, told, [], 2)
    with pytest.raises(ReproductionBroke, match=r"ended with status -9\. .*last words"):
        _run_of(record, "", ["last words"], -9)


def test_raw_data_alone_is_brought_into_the_empty_cache(workspace: Path) -> None:
    git(workspace, "rm", "-q", "--cached", "cases/toy/data.txt")
    dvc(workspace, "add", "-q", "cases/toy/data.txt")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Data under DVC")
    toy_run(workspace)
    seen = []

    def start(clone, record, say):
        found = [path for path in clone.cache.rglob("*") if path.is_file()]
        seen.extend((path.name, path.read_text()) for path in found)
        return toy_run(clone.root).id

    result = reproduce(workspace, "latest", print, start=start)
    ((name, text),) = seen
    assert text == "12345"
    assert (result.raw, result.status) == (("cases/toy/data.txt",), 0)

    (raw,) = (path for path in cache_of(workspace).rglob("*") if path.name == name)
    raw.chmod(0o644)
    raw.write_text("54321")
    with pytest.raises(RawDataMissing, match=r"cases/toy/data\.txt .* damaged"):
        reproduce(workspace, "latest", print, start=again())


def test_a_cache_that_others_share_is_not_looked_into(workspace: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    with (workspace / ".dvc/config").open("a") as config:
        config.write(f"[cache]\n    dir = {shared}\n")
    git(workspace, "commit", "-qam", "A shared cache")
    old = toy_run(workspace)
    result = reproduce(workspace, "latest", print, start=again())
    assert result.how == {"first": "ran", "second": "ran"}
    assert result.status == 0
    for md5 in read_run(workspace, old.id).stages[0].outputs.values():
        if not md5.endswith(".dir"):
            assert place(shared, md5).exists()


TOLERANCE = Tolerance(atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('{"gap": 1.0}', '{"gap": 1.0000001}', "equal"),
        ('{"gap": 1.0}', '{"gap": 1.001}', "different"),
        ('{"gap": 1e-9}', '{"gap": 0.0}', "equal"),
        ('{"rows": 1000000000}', '{"rows": 1000000001}', "different"),
        ('{"gap": 1.0}', '{"gaps": 1.0}', "different"),
        ("a,1.5\nb,2.5\n", "a,1.5\nc,2.5\n", "different"),
        ("hash 12e45a78", "hash 12e45a79", "different"),
        ("0.1 0.2", "0.1", "different"),
    ],
    ids=[
        "a number within", "a number beyond", "next to nothing", "whole numbers", "a key",
        "a label", "a hash is no number", "one number fewer",
    ],
)  # fmt: skip
def test_text_is_the_same_but_for_fractions_within_the_tolerance(old, new, same) -> None:
    assert _texts(old, new, TOLERANCE)[0] == same
    assert _texts(new, old, TOLERANCE)[0] == same


def test_arrays_are_compared_element_by_element(tmp_path: Path) -> None:
    import numpy as np

    def say(old, new) -> tuple[str, str]:
        for name, array in (("old", old), ("new", new)):
            np.save(tmp_path / f"{name}.npy", array)
        return _arrays(tmp_path / "old.npy", tmp_path / "new.npy", TOLERANCE)

    base = np.array([1.0, np.nan, np.inf], np.float32)
    assert say(base, base + np.float32(2e-7))[0] == "equal"
    assert say(base, base + np.float32(1e-3)) == (
        "different",
        "1 elements beyond atol 1e-06, rtol 1e-06",
    )
    assert say(base, np.nan_to_num(base, posinf=np.inf))[0] == "different"
    assert say(base, base.astype(float))[0] == "different"
    assert say(np.arange(3), np.array([0, 1, 3])) == ("different", "other elements")


def test_the_record_of_an_older_run_stays_readable() -> None:
    from lineage.provenance import RunRecord

    older = {
        "id": "x", "case": "toy", "state": "done", "sentence": "", "commit": "c", "parent": "c",
        "isolation": "process", "started": "", "ended": "",
    }  # fmt: skip
    assert RunRecord.model_validate_json(json.dumps(older)).of is None
