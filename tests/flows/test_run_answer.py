"""What `assay run` says in the end."""

import pytest

from flows.commands import run
from lineage.provenance import RunRecord


@pytest.mark.parametrize(
    ("verdict", "because", "line"),
    [
        ("open", "", "gate     open\n"),
        ("closed", "the data contract (real: range)", "gate     closed: the data contract (real"),
    ],
)
def test_a_gate_that_is_not_open_says_why(tmp_path, monkeypatch, verdict, because, line):
    monkeypatch.setattr(run.runs, "open_artifact", lambda *_: tmp_path / "report.html")
    known = {"case": "digits", "state": "done", "sentence": "S.", "isolation": "process"}
    known |= dict.fromkeys(("id", "commit", "parent", "started", "ended"), "x")
    record = RunRecord(verdict=verdict, because=because, **known)
    data, text, _ = run._answer(tmp_path, record, None)
    assert line in text
    assert data["because"] == because
