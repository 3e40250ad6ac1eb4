"""A server that refuses for a while, and one that goes away, cost a run no more than they must."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import flow_states, investigate, whole_run
from flows.commands import run as command
from flows.prefect_api import ApiFailed
from flows.server import ServerLost

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


def followed(known: Any) -> tuple[BaseException | None, bool]:
    """Return what ended it, and whether the server was there."""
    return whole_run._followed(known, command._in_prefect)


def test_a_busy_server_is_asked_again_for_a_new_flow_run(tmp_path: Path, refusals):
    refusals += [BusyError(), BusyError()]
    assert followed(investigation(tmp_path)) == (None, True)
    assert refusals == []


def test_a_run_that_has_begun_is_not_begun_again(tmp_path: Path, refusals):
    refusals += [BusyError(), BusyError()]
    lost, heard = followed(investigation(tmp_path, flow_run_id=FLOW_RUN))
    assert isinstance(lost, ServerLost)
    assert not heard
    assert len(refusals) == 1


def test_all_that_was_to_be_done_is_done_without_a_server_too(tmp_path: Path, refusals):
    refusals += [BusyError()]
    whole = investigation(tmp_path, flow_run_id=FLOW_RUN, finished=True)
    assert followed(whole) == (None, False)


def test_what_ended_the_run_is_not_hidden_by_a_server_that_is_away(tmp_path: Path, refusals):
    refusals += [BusyError()]
    fault = ValueError("it broke")
    found, heard = followed(investigation(tmp_path, flow_run_id=FLOW_RUN, error=fault))
    assert (found, heard) == (fault, False)
    assert not flow_states.is_busy(fault)


@pytest.mark.parametrize(
    ("error", "cancelled", "kind", "name", "message"),
    [
        (None, False, "COMPLETED", "Gate closed", "run r: it is worse"),
        (ServerLost(), False, "CRASHED", "Crashed", "run r: Prefect's server stopped answering."),
        (ValueError("no"), False, "FAILED", "Failed", "run r: no"),
        (ValueError(), True, "CANCELLED", "Cancelled", "run r: ValueError"),
    ],
)
def test_how_it_ended_is_owed_and_paid_once_the_server_is_back(  # noqa: PLR0917
    tmp_path: Path, monkeypatch, error, cancelled, kind, name, message
):
    gate = {"verdict": "closed", "because": "it is worse"}
    flow_states.owe(tmp_path, FLOW_RUN, flow_states.end_of("r", gate, error, cancelled=cancelled))
    flow_states.owe_event(tmp_path, {"id": "e"})
    told: list[Any] = []

    def away(*_: Any, **_more: Any) -> None:
        raise ApiFailed("away", None)

    def back(path: str, body: Any = None, **_: Any) -> Any:
        told.append(body)
        return {"id": FLOW_RUN, "state": {"type": "RUNNING"}}

    monkeypatch.setattr(flow_states, "call", away)
    assert flow_states.settle(tmp_path) == []
    monkeypatch.setattr(flow_states, "call", back)
    assert flow_states.settle(tmp_path) == [FLOW_RUN]
    state = told[1]["state"]
    assert (state["type"], state["name"]) == (kind, name)
    assert state["message"].startswith(message)
    assert told[2] == [{"id": "e"}]
    assert flow_states.settle(tmp_path) == []
    assert len(told) == 3


def test_a_debt_does_not_end_what_a_person_retried(tmp_path: Path, monkeypatch):
    flow_states.owe(tmp_path, FLOW_RUN, flow_states.End("FAILED", "Failed", "run r: no"))
    told: list[Any] = []

    def scheduled(_path: str, body: Any = None, **_: Any) -> Any:
        told.append(body)
        return {"id": FLOW_RUN, "state": {"type": "SCHEDULED"}}

    monkeypatch.setattr(flow_states, "call", scheduled)
    assert flow_states.settle(tmp_path) == [FLOW_RUN]
    assert told == [None]
