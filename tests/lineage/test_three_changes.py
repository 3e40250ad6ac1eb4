"""`assay diff` and `assay lineage` where data, a param and code changed between two runs."""

import json
from pathlib import Path

import pytest
from toy_runs import CASE, run_toy
from toy_workspace import git, quiet, row, toy_rows, write_graph

from flows import workspace as workspaces
from flows.commands.diff import diff
from flows.commands.lineage import lineage
from lineage.row import Row

GATE = """
import json
def run(params, inputs, into):
    first = int(inputs["first"])
    figures = {"accuracy": first / 100, "gap": 0.5, "noise": 1e-17 * first}
    open(into + "/metrics.json", "w").write(json.dumps(figures))
"""


def rows(n: int) -> tuple[Row, Row]:
    """The toy's first stage, and one that makes the gate's metrics of it."""
    first, _ = toy_rows(n)
    inputs = {"first": f"{first.folder}/report.json"}
    return first, row("gate", inputs=inputs, outputs={"metrics": "metrics.json"})


@pytest.fixture
def runs(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A run; then other data, another param, another line of code and another image; a run."""
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(workspaces, "find", lambda _: workspace)
    (workspace / "toys/gate.py").write_text(GATE)
    (workspace / "cases/toy/case.yaml").write_text(CASE)
    write_graph(workspace, rows(2))
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "A case")
    one = run_toy(workspace, 1, rows=rows(2))
    (workspace / "cases/toy/data.txt").write_text("1234567")
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    (workspace / "toys/gate.py").write_text(GATE.replace("/ 100", "/ 50"))
    return one, run_toy(workspace, 2, rows=rows(3), key="docker:other", verdict="open")


def test_diff_names_all_of_them_and_what_became_of_the_metrics(runs: tuple[str, str]):
    data, text, status = diff(*runs)
    assert status == 0
    assert [(one["what"], one["old"][:8], one["new"][:8]) for one in data["data"]] == [
        ("cases/toy/data.txt", "827ccb0e", "fcea920f")
    ]
    assert data["params"] == [{"what": "params.yaml first.n", "old": 2, "new": 3}]
    assert [(one["path"], one["how"], one["stages"]) for one in data["code"]] == [
        ("toys/gate.py", "changed", ("gate",))
    ]
    images = {"what": "environment of base", "old": "process:fake", "new": "docker:other"}
    assert images in data["environment"]
    assert data["metrics"][0] == {
        "name": "accuracy",
        "old": 0.1,
        "new": 0.42,
        "change": pytest.approx(0.32),
    }
    assert data["outputs"] == {"first": "differs", "gate": "differs"}
    for said in (
        "closed -> open",
        "0.1 ->     0.42",
        "2 others are the same",
        "first.n: 2 -> 3",
        "toys/gate.py",
        "data.txt",
        "images     environment of base: process:fake -> docker:other\nhost       the same",
    ):
        assert said in text, text


def test_lineage_leads_each_figure_back_to_its_own_data_params_code_and_image(
    runs: tuple[str, str],
):
    found = {}
    for run in runs:
        data, _, _ = lineage(f"{run}:artifacts/gate/metrics.json", None, quiet)
        nodes = {node["id"]: node for node in data["back"]["nodes"]}
        found[run] = {
            "data": nodes["data:cases/toy/data.txt"]["hash"],
            "params": nodes["params:first"]["values"],
            "code": nodes["code:toys/gate.py"]["hash"],
            "image": nodes["image:base@sha256:1"]["hash"],
        }
    old, new = (found[run] for run in runs)
    assert all(old[kind] != new[kind] for kind in old), json.dumps(found)
    assert (old["params"], new["params"]) == ({"n": 2}, {"n": 3})


def test_lineage_of_the_old_data_leads_to_the_old_run_alone(runs: tuple[str, str]):
    data, _, _ = lineage(f"{runs[0]}:data.txt", None, quiet)
    assert {(one["stage"], one["ran_in"]) for one in data["forward"]} == {
        ("first", runs[0]),
        ("gate", runs[0]),
    }
