"""Whose offers `assay mitigate` lists: those of the last run that had the time to look for any."""

import pytest

from flows.commands import mitigate as command
from flows.faults import Faults
from lineage.provenance import RunRecord


def record(number: int, **other) -> RunRecord:
    known = {
        "id": f"20261130T16010{number}-toy-ab1{number}",
        "case": "toy",
        "state": "done",
        "verdict": "closed",
        "sentence": "It broke.",
        "commit": "c",
        "parent": "p",
        "isolation": "process",
        "started": "s",
        "ended": "t",
    }
    return RunRecord(**(known | other))


WHOLE = record(1)
IN_TIME = record(2, partial="Stopped, so probe was not examined", not_examined=["probe"])
CUT = record(3, partial="Stopped, so mitigate was not examined", not_examined=["mitigate"])
FAILED = record(4, state="failed", verdict=None)


@pytest.fixture
def known(monkeypatch):
    """Put runs, the newest first, in place of a workspace's."""

    def put(*records: RunRecord) -> None:
        monkeypatch.setattr(command.runs, "list_runs", lambda _: list(records))
        by_id = {one.id: one for one in records}
        monkeypatch.setattr(command.runs, "read_run", lambda _, run: by_id[run])

    return put


@pytest.mark.parametrize("last", [WHOLE, IN_TIME])
def test_a_run_that_was_cut_short_before_it_looked_is_passed_over(known, tmp_path, last):
    known(FAILED, CUT, last, record(0))
    assert command._record(tmp_path, "toy", None) == last


def test_where_none_looked_the_message_says_what_to_run(known, tmp_path):
    known(FAILED, CUT, record(5, case="other"))
    with pytest.raises(Faults, match=r"no finished run that offers anything: assay run toy"):
        command._record(tmp_path, "toy", None)


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (CUT, "is partial: it offers nothing. Go on: assay run toy"),
        (FAILED, "failed: it offers nothing"),
        (record(5, case="other"), "is a run of other, not of toy"),
    ],
)
def test_a_run_that_offers_nothing_is_refused_in_one_sentence(known, tmp_path, run, says):
    known(run, WHOLE)
    with pytest.raises(Faults, match=says):
        command._record(tmp_path, "toy", run.id)
