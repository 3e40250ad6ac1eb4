"""A run that is short of time or of patience gives the answer so far; the next gives all of it."""

import itertools
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clone import Clone, make_clone

pytestmark = pytest.mark.slow

SLOW = itertools.count(500_000)  # resamples in `inputs`: half a minute, each time anew
WORDS = [sys.executable, "-m", "flows", "run", "toy", "--isolation", "process", "--json"]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, api: str) -> Clone:
    """A workspace in which all is known."""
    clone = make_clone(tmp_path_factory.mktemp("known"), api)
    clone.edit("params.yaml", "num_permutations: 9999\n", "num_permutations: 99\n")
    whole = clone.run()
    assert (whole["partial"], whole["not_examined"]) == ("", [])
    return clone


@pytest.fixture
def slow(known: Clone) -> Clone:
    """The same, but for one stage that nobody has to wait for."""
    text = (known.root / "params.yaml").read_text()
    many = f"inputs:\\g<1>resamples: {next(SLOW)}"
    text = re.sub(r"inputs:(\n(?: .*\n)*?  )resamples: \d+", many, text)
    (known.root / "params.yaml").write_text(text)
    return known


def is_partial(clone: Clone, answer: dict) -> None:
    """The mark stands wherever somebody may look."""
    assert answer["not_examined"] == ["inputs"]
    assert "a partial answer" in answer["because"]
    told = json.loads(clone.report(answer["run"]))
    assert told["partial"] == answer["partial"]
    assert told["inputs"]["not_applicable"].startswith("not examined: ")
    assert told["diagnose"]["findings"][0]["step"] == "decode"
    page = clone.assay("report", answer["run"], status=0).stdout.strip()
    assert "Partial answer" in Path(page).read_text(encoding="utf-8")
    assert "partial" in clone.assay("status", "--last", "1", status=0).stdout
    record = clone.record(answer["run"])
    assert record["partial"] == answer["partial"]
    lock = clone.git("show", f"run/{answer['run']}:cases/toy/dvc.lock")
    assert "  predict-candidate:" in lock
    assert not [
        name for name in ("inputs", "diagnose", "gate", "report") if f"\n  {name}:\n" in lock
    ]
    assert clone.git("worktree", "list").count("\n") == 1


def test_what_the_budget_has_no_time_for_is_named_and_the_next_run_is_whole(slow: Clone) -> None:
    words = ("run", "toy", "--isolation", "process", "--json")
    done = slow.assay(*words, "--budget", "12s", status=1)
    cut = json.loads(done.stdout)
    assert cut["partial"] == "The budget of 12s ran out, so inputs was not examined"
    assert " of 0:12" in done.stderr
    is_partial(slow, cut)

    whole = slow.run()
    assert whole["partial"] == ""
    assert {name for name, how in whole["stages"].items() if how == "ran"} == {
        "inputs", "diagnose", "report",
    } | ({"gate"} if whole["stages"]["gate"] == "ran" else set())  # fmt: skip
    assert json.loads(slow.report(whole["run"]))["partial"] == ""
    assert slow.run()["stages"]["inputs"] == "restored"


def begun(clone: Clone) -> subprocess.Popen[str]:
    """Start a run and return once its slow stage is under way."""
    logs = clone.root / ".assay/logs"
    before = len(list(logs.glob("*/inputs.log*")))
    process = subprocess.Popen(
        WORDS,
        cwd=clone.root,
        env=clone.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(list(logs.glob("*/inputs.log*"))) == before:
        assert process.poll() is None
        time.sleep(0.1)
    return process


def test_who_interrupts_once_gets_the_answer_so_far(slow: Clone) -> None:
    process = begun(slow)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "finishing with what is known" in err
    cut = json.loads(out)
    assert cut["partial"].startswith("Stopped after 0:")
    is_partial(slow, cut)


def test_who_interrupts_twice_cancels(slow: Clone) -> None:
    process = begun(slow)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["state"] == "cancelled"


def test_a_budget_too_short_for_any_answer_says_what_is_missing(clone: Clone) -> None:
    done = clone.assay("run", "toy", "--isolation", "process", "--budget", "1s", status=3)
    assert "No answer yet: the budget of 1s ran out before" in done.stderr
    assert "assay run toy --budget 2h" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_budget_is_refused_before_anything_runs(clone: Clone) -> None:
    done = clone.assay("run", "toy", "--budget", "soon", status=2)
    assert "90s, 10m or 2h" in done.stderr
    clone.edit("cases/toy/case.yaml", "classes: 2", "classes: 2\nbudget: soon")
    done = clone.assay("run", "toy", status=2)
    assert "case.yaml, line 6" in done.stderr
    assert "90s, 10m or 2h" in done.stderr
