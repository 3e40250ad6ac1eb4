"""What `assay run` says in the end."""

import threading
import time

import pytest

from flows.commands import run
from lineage.provenance import RunRecord
from lineage.room import NoRoom


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


def test_a_run_that_cannot_be_opened_waits_for_the_import_that_it_began(monkeypatch, tmp_path):
    """Else the interpreter ends under it, and Prefect's libraries end the process by SIGABRT."""
    over = threading.Event()

    def slow(_name: str) -> None:
        time.sleep(0.2)
        over.set()

    def refused():
        raise NoRoom("The run would not fit.")

    monkeypatch.setattr(run.importlib, "import_module", slow)
    with pytest.raises(NoRoom):
        run._started(refused, print)
    assert over.is_set()
