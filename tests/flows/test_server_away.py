"""A server that refuses for a while, and one that goes away, cost a run no more than they must."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import flow_states, investigate
from flows.commands import run as command
from flows.server import ServerLost
from lineage.runs import DEBTS

FLOW_RUN = "01234567-89ab-cdef-0123-456789abcdef"


class BusyError(Exception):
    response = SimpleNamespace(status_code=503)


def investigation(root: Path, **known: Any) -> Any:
    whole = {
        "run": SimpleNamespace(workspace=root, id="r"),
        "loaded": SimpleNamespace(name="toy"),
        "flow_run_id": None,
        "finished": False,
        "error": None,
        "cancel": SimpleNamespace(is_set=lambda: False),
        "say": lambda _line: None,
    }
    return SimpleNamespace(**(whole | known))


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What the flow raises, one a call; then it ends well."""
    told: list[Exception] = []
    monkeypatch.setattr(command, "sleep", lambda _s: None)
    monkeypatch.setattr(command, "gc", SimpleNamespace(freeze=int, enable=int))
    monkeypatch.setattr(command.server, "answers", lambda: True)

    def flow(case: str, run_id: str) -> None:
        if told:
            raise told.pop(0)

    monkeypatch.setattr(investigate, "examine_case", flow)
    return told


def test_a_busy_server_is_asked_again_for_a_new_flow_run(tmp_path: Path, refusals):
    refusals += [BusyError(), BusyError()]
    assert command._follow(investigation(tmp_path)) is None
    assert refusals == []


def test_a_run_that_has_begun_is_not_begun_again(tmp_path: Path, refusals):
    refusals += [BusyError(), BusyError()]
    lost = command._follow(investigation(tmp_path, flow_run_id=FLOW_RUN))
    assert isinstance(lost, ServerLost)
    assert len(refusals) == 1
    assert (tmp_path / DEBTS / FLOW_RUN).read_text().startswith("CRASHED\n")


def test_all_that_was_to_be_done_is_done_without_a_server_too(tmp_path: Path, refusals):
    refusals += [BusyError()]
    assert command._follow(investigation(tmp_path, flow_run_id=FLOW_RUN, finished=True)) is None
    assert (tmp_path / DEBTS / FLOW_RUN).read_text().startswith("COMPLETED\n")


def test_what_ended_the_run_is_not_hidden_by_a_server_that_is_away(tmp_path: Path, refusals):
    refusals += [BusyError()]
    fault = ValueError("it broke")
    found = command._follow(investigation(tmp_path, flow_run_id=FLOW_RUN, error=fault))
    assert found is fault
    assert not flow_states.is_busy(fault)
