"""One command, from a case to a verdict; run again, changed, broken, and two at once."""

import json
import signal
import subprocess
import sys
import time

import pytest
from clone import Clone, make_clone

pytestmark = pytest.mark.slow


def ran(answer: dict) -> set[str]:
    return {name for name, how in answer["stages"].items() if how == "ran"}


def importers(clone: Clone, module: str) -> set[str]:
    """Stages of the generated graph that depend on a file."""
    import yaml

    stages = yaml.safe_load((clone.root / "cases/toy/dvc.yaml").read_text())["stages"]
    return {name for name, entry in stages.items() if f"../../{module}" in entry["deps"]}


def test_a_run_names_the_fault_and_leaves_only_its_tag(clone: Clone) -> None:
    first = clone.run()
    assert ran(first) == set(first["stages"]) == importers(clone, "sides/inside.py")
    report = json.loads(clone.report(first["run"]))
    assert report["parity"]["first_differing_step"] == "decode"
    assert report["parity"]["own"][0]["transform"]["kind"] == "transpose"
    assert report["diagnose"]["findings"][0]["step"] == "decode"
    assert clone.git("status", "--porcelain") == ""
    assert clone.git("tag").split() == [f"run/{first['run']}"]
    assert clone.git("worktree", "list").count("\n") == 1

    again = clone.run()
    assert ran(again) == set()
    assert clone.report(again["run"]) == clone.report(first["run"])

    # An edit in the library reruns exactly the stages that import it.
    clone.edit("assay/crossed.py", '"""', '"""Edited. ')
    users = importers(clone, "assay/crossed.py")
    assert users
    assert ran(clone.run()) == users

    # A param reruns its stage, and what follows of it only where its outputs changed.
    clone.edit("params.yaml", "min_accuracy: 0.9", "min_accuracy: 0.8")
    assert ran(clone.run()) == {"gate", "report"}


def test_dvc_users_find_what_they_expect(clone: Clone) -> None:
    answer = clone.run()
    done = clone.call("dvc", "repro", status=0)
    assert "Running stage 'cases/toy/dvc.yaml:" not in done.stdout, done.stdout
    overview = json.loads((clone.root / "artifacts/overview.json").read_text())
    assert overview["toy"]["gate"] == "closed"
    assert "parity" in clone.call("dvc", "dag", status=0).stdout
    clone.edit("params.yaml", "min_accuracy: 0.9", "min_accuracy: 0.01")
    other = clone.run()
    tags = f"run/{answer['run']}", f"run/{other['run']}"
    metrics = clone.call("dvc", "metrics", "diff", *tags, "--all", "--json", status=0)
    assert "cases/toy/artifacts/gate/metrics.json" in json.loads(metrics.stdout)
    clone.call("dvc", "plots", "diff", *tags, "-o", "plots", status=0)
    assert "few-shot" in (clone.root / "plots/index.html").read_text()


def test_two_runs_at_once_give_the_same_report_as_one_alone(clone: Clone, tmp_path, api) -> None:
    words = [sys.executable, "-m", "flows", "run", "toy", "--isolation", "process", "--json"]
    both = [
        subprocess.Popen(
            words, cwd=clone.root, env=clone.environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [1, 1]
    (tmp_path / "alone").mkdir()
    alone = make_clone(tmp_path / "alone", api)
    expected = alone.report(alone.run()["run"])
    assert [clone.report(answer["run"]) for answer in answers] == [expected, expected]


def test_a_step_that_raises_is_named_with_its_sample_and_the_same_command_resumes(
    clone: Clone,
) -> None:
    good = (clone.root / "cases/toy/code/toy_steps.py").read_text()
    bad = "    if raw.sum() == SUM:\n        raise ValueError('odd picture')\n"
    import numpy as np

    make = "import toy_data; from pathlib import Path; toy_data.make(Path('../../../../made'), 0)"
    subprocess.run([sys.executable, "-c", make], cwd=clone.root / "cases/toy/code", check=True)
    total = int(np.load(clone.root.parent / "made/real/samples.npy")[17].sum())
    head, body = good.split("def from_buffer(raw):\n")
    (clone.root / "cases/toy/code/toy_steps.py").write_text(
        head + "def from_buffer(raw):\n" + bad.replace("SUM", str(total)) + body
    )
    done = clone.assay("run", "toy", "--isolation", "process", status=3)
    said = done.stdout + done.stderr
    assert "real-017" in said
    assert "odd picture" in said
    assert "sides/" not in said, "the traceback is the user's own"
    assert clone.git("worktree", "list").count("\n") == 1
    failed = json.loads(clone.assay("status", "--json", status=0).stdout)["runs"][0]
    assert failed["state"] == "failed"

    (clone.root / "cases/toy/code/toy_steps.py").write_text(good)
    resumed = clone.run()
    assert "contract" not in ran(resumed)
    assert "preprocess-candidate" in ran(resumed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_told_to_stop_stops_its_stage_and_is_recorded(clone: Clone, number) -> None:
    clone.edit(
        "cases/toy/code/toy_data.py", "    rng =", "    __import__('time').sleep(300)\n    rng ="
    )
    words = [sys.executable, "-m", "flows", "run", "toy", "--isolation", "process", "--json"]
    process = subprocess.Popen(
        words,
        cwd=clone.root,
        env=clone.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    logs = clone.root / ".assay/logs"
    while not list(logs.glob("*/data.log*")) and process.poll() is None:
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["state"] == "cancelled"
    assert clone.git("worktree", "list").count("\n") == 1


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        pytest.param(["run", "tyo"], 2, "Did you mean `toy`?", id="unknown case"),
        pytest.param(["check", "toy"], 0, "nothing is wrong", id="check"),
        pytest.param(["report"], 2, "There is no run yet", id="no run yet"),
        pytest.param(["stage", "toy", "nope"], 2, "Which stage? One of: data", id="unknown stage"),
        pytest.param(["list"], 0, "Bars, lying or standing", id="list"),
        pytest.param(["plan", "--check"], 0, "current", id="plan is current"),
    ],
)
def test_a_command_says_what_it_needs(
    clone: Clone, words: list[str], status: int, says: str
) -> None:
    done = clone.assay(*words, status=status)
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_workspace_or_no_repository_is_told(clone: Clone, tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flows", "run", "toy"],
        cwd=tmp_path, env=clone.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "is in no assay workspace" in done.stderr
    (clone.root / ".git").rename(clone.root / ".git-away")
    done = clone.assay("run", "toy", status=2)
    assert "is not a git repository" in done.stderr
