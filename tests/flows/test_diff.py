"""`assay diff` tells the outcome first, then what may have caused it."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.commands import diff as command
from lineage.artifacts import ArtifactMissing
from lineage.provenance import RunRecord
from lineage.run_diff import Change, CodeChange, RunDiff

FILES: dict[str, dict[str, Any]] = {
    "old/gate": {"accuracy": 0.5, "gap": 0.25, "parity_max_abs": 1.0},
    "new/gate": {"accuracy": 0.75, "gap": 0.25, "agreement": 1.0},
    "old/diagnose": {
        "findings": [
            {
                "component": "preprocessing",
                "kind": "transpose",
                "step": "decode",
                "title": "turned",
            },
            {"component": "data", "kind": "gap", "step": None, "title": "a gap of 24 points"},
        ]
    },
    "new/diagnose": {
        "findings": [
            {"component": "data", "kind": "gap", "step": None, "title": "a gap of 3 points"},
            {"component": "model", "kind": "weights", "step": None, "title": "other weights"},
        ]
    },
}


def record(run: str, case: str = "toy", **other: Any) -> RunRecord:
    known = {
        "id": run,
        "case": case,
        "state": "done",
        "verdict": "closed",
        "sentence": f"The {run} sentence.",
        "commit": "c",
        "parent": "p",
        "isolation": "process",
        "started": "s",
        "ended": "e",
    }
    return RunRecord.model_validate(known | other)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the comparison says, for a test to change before the command is called."""
    said: dict[str, Any] = {
        "old": record("old"),
        "new": record("new", verdict="open"),
        "data": (),
        "params": (Change("params.yaml gate.min_accuracy", 0.9, None),),
        "code": (CodeChange("assay/crossed.py", "changed", ("probe",)),),
        "environment": (),
        "outputs": {"data": "same", "gate": "differs"},
    }

    def read(root: Path, run: str, path: str) -> bytes:
        try:
            return json.dumps(FILES[f"{run}/{path.split('/')[3]}"]).encode()
        except KeyError:
            raise ArtifactMissing(f"The cache has lost {path} of run {run}.") from None

    monkeypatch.setattr(command, "compare", lambda *_: RunDiff(**said))
    monkeypatch.setattr(command, "read_artifact", read)
    monkeypatch.setattr(command.workspace, "find", lambda _: Path("/nowhere"))
    return said


@pytest.mark.usefixtures("told")
def test_the_outcome_comes_first_then_the_causes():
    _, text, status = command.diff("old", "new")
    assert status == 0
    first = [line.split()[0] for line in text.splitlines() if line and not line.startswith(" ")]
    assert first == [
        "old", "new", "gate", "verdict", "metrics", "findings",
        "params", "code", "data", "images", "host", "outputs",
    ]  # fmt: skip
    assert "gate       closed -> open" in text
    assert "accuracy             0.5 ->     0.75  +0.25" in text
    assert "params     params.yaml gate.min_accuracy: 0.9 -> (absent)" in text
    assert "code       assay/crossed.py: changed (probe)" in text


@pytest.mark.usefixtures("told")
def test_a_finding_is_the_same_whatever_its_figures():
    data, _, _ = command.diff("old", "new")
    assert data["findings"] == {
        "appeared": ["other weights"],
        "vanished": ["turned"],
        "kept": ["a gap of 3 points"],
    }


@pytest.mark.usefixtures("told")
def test_a_metric_that_only_one_run_has_has_no_change():
    data, _, _ = command.diff("old", "new")
    changes = {one["name"]: one["change"] for one in data["metrics"]}
    assert changes == {"accuracy": 0.25, "gap": 0.0, "parity_max_abs": None, "agreement": None}
    json.dumps(data, allow_nan=False)


def test_runs_of_different_cases_are_compared_and_said_to_be(told: dict[str, Any]):
    told["new"] = record("new", case="other")
    data, text, _ = command.diff("old", "new")
    assert "different cases, toy and other" in text
    assert len(data["notes"]) == 1


def test_a_figure_that_the_cache_has_lost_is_a_note_and_no_failure(told: dict[str, Any]):
    told["new"] = record("lost")
    data, text, status = command.diff("old", "lost")
    assert status == 0
    assert "has lost cases/toy/artifacts/gate/metrics.json of run lost" in text
    assert data["metrics"][0]["new"] is None


def test_a_long_list_of_files_is_cut_in_the_text_alone(told: dict[str, Any]):
    told["code"] = tuple(CodeChange(f"assay/f{at}.py", "changed", ("probe",)) for at in range(30))
    data, text, _ = command.diff("old", "new")
    assert "and 10 more" in text
    assert len(data["code"]) == 30
