"""How a run ended, as Prefect shows it, and whether its UI or API asks for the end of one.

A run whose process was killed, or whose server was away, leaves a debt: a file that names the flow
run. It is paid by whoever comes next, so that nothing stays Running for ever.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from containers.job import Reason
from flows.prefect_api import ApiFailed, call
from flows.server import ServerLost
from lineage.execute import StageFailed
from lineage.runs import DEBTS

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

UNTOLD: Final = ".assay/untold"
"""Events of runs' ends that the server did not take: a file each."""

POLL_S = 2.0
"""How often a run asks whether the UI wants its end; containers are to be dead in 10 s."""
CALL_S = 10.0
GONE: Final = 404
OVER: Final = {"COMPLETED", "CANCELLED", "FAILED", "CRASHED"}
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMES: Final = {
    Reason.OUT_OF_MEMORY: "OutOfMemory",
    Reason.TIMED_OUT: "TimedOut",
    Reason.ENGINE_GONE: "EngineGone",
}
"""What Prefect's UI shows instead of `Failed`."""


def reason_of(error: BaseException | None) -> Reason | None:
    """Return why a stage's process ended, if that is what an error is about."""
    return error.exit.reason if isinstance(error, StageFailed) else None


@dataclass(frozen=True, slots=True)
class End:
    """A state of Prefect that ends a flow run: its type, its name and what it says."""

    kind: str
    name: str
    message: str

    def state(self) -> "State[Any]":
        """Return it as a flow returns it."""
        from prefect.client.schemas.objects import State, StateType

        return State(type=StateType(self.kind), name=self.name, message=self.message)


def end_of(
    run_id: str, gate: Mapping[str, Any], error: BaseException | None, *, cancelled: bool
) -> End:
    """Return how a run ended, by a name that tells the reasons apart.

    A closed gate is a good answer: the flow run is completed, and named after its gate.
    """
    if error is None:
        because = f": {gate['because']}" if gate["because"] else ""
        return End("COMPLETED", f"Gate {gate['verdict']}", f"run {run_id}{because}")
    message = f"run {run_id}: {str(error) or type(error).__name__}"
    if cancelled:
        return End("CANCELLED", "Cancelled", message)
    if isinstance(error, ServerLost):
        return End("CRASHED", "Crashed", message)
    reason = reason_of(error)
    return End("FAILED", NAMES.get(reason, "Failed") if reason else "Failed", message)


@contextmanager
def heard(flow_run_id: str, on_cancel: Callable[[], None]) -> Iterator[None]:
    """Ask the server meanwhile whether somebody cancelled this flow run; then call `on_cancel`.

    Prefect itself ends only what it started. A server that is away cancels nothing.
    """
    over = threading.Event()

    def listen() -> None:
        while not over.wait(POLL_S):
            found = _state(flow_run_id)
            if found in {"CANCELLING", "CANCELLED"}:
                on_cancel()
                return

    listener = threading.Thread(target=listen, name="assay-cancel", daemon=True)
    listener.start()
    try:
        yield
    finally:
        over.set()


def _state(flow_run_id: str) -> str | None:
    try:
        found = call(f"/flow_runs/{flow_run_id}", timeout_s=CALL_S)
    except ApiFailed:
        return None
    state = found.get("state") if isinstance(found, dict) else None
    return state["type"] if state else None


def owe(workspace: Path, flow_run_id: str | None, end: End) -> None:
    """Write down how a run ended of which the server has not heard."""
    from lineage import atomic

    if flow_run_id:
        atomic.write(workspace / DEBTS / flow_run_id, f"{end.kind} {end.name}\n{end.message}")


def owe_event(workspace: Path, event: Mapping[str, Any]) -> None:
    """Keep an event that the server did not take; its id makes it one, however often it is told."""
    from lineage import atomic

    atomic.write(workspace / UNTOLD / f"{event['id']}.json", json.dumps(event))


def is_busy(error: BaseException) -> bool:
    """Tell a server that answers, and refuses for now: its database has too much to do."""
    response = getattr(error, "response", None)
    return getattr(response, "status_code", None) in {429, 503}


def settle(workspace: Path) -> list[str]:
    """Tell the server of this process how runs ended of which it has not heard.

    A server that does not answer is asked again next time; one that forgot a run is owed nothing.

    Returns:
        The flow runs that are settled now.
    """
    settled = []
    for debt in _files(workspace / DEBTS):
        try:
            first, _, message = debt.read_text("utf-8").partition("\n")
            kind, _, name = first.partition(" ")
            state = {"type": kind, "name": name or kind.title(), "message": message}
            for flow_run in _open_flow_runs(debt.name):
                call(f"/flow_runs/{flow_run['id']}/set_state", {"state": state, "force": True})
        except (OSError, ApiFailed) as error:
            if getattr(error, "status", None) != GONE:
                continue
        debt.unlink(missing_ok=True)
        settled.append(debt.name)
    for event in _files(workspace / UNTOLD):
        with suppress(OSError, ValueError, ApiFailed):
            call("/events", [json.loads(event.read_text("utf-8"))])
            event.unlink(missing_ok=True)
    return settled


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("[!.]*")) if folder.is_dir() else []


def _open_flow_runs(which: str) -> list[dict[str, Any]]:
    """Return what is not over of a flow run by its id, or of a run by the name that it had."""
    if UUID.fullmatch(which):
        found = [call(f"/flow_runs/{which}")]
    else:  # it died before it knew its flow run
        case = which.partition("-")[2].rpartition("-")[0]
        named = {"name": {"any_": [f"{case} {which}"]}}
        found = call("/flow_runs/filter", {"flow_runs": named})
    # One that is scheduled is to run anew: a person retried it.
    return [one for one in found if (one["state"] or {}).get("type") not in OVER | {"SCHEDULED"}]
