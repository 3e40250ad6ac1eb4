"""What follows when a run has ended: an event for who waits, a message for who asked for one."""

from pathlib import Path

from flows import deploy_event, flow_states, looks_ledger, notify
from flows.case import LoadedCase
from flows.investigation import Say
from flows.prefect_api import ApiFailed, call
from lineage.clean_clone import CLONES
from lineage.provenance import RunRecord
from lineage.run_tags import list_looks


def tell(workspace: Path, loaded: LoadedCase, record: RunRecord, say: Say) -> None:
    """Tell the server and whom the case names; what cannot be told is said, and ends nothing."""
    if f"/{CLONES}/" in workspace.as_posix():
        return  # a repetition: whoever wants to know of this end was told of the run itself
    serves = looks_ledger.lets_serve(record, list_looks(workspace))
    event = deploy_event.answer(record, serves=serves)
    try:
        call("/events", [event], timeout_s=5.0)
    except ApiFailed as error:
        flow_states.owe_event(workspace, event)
        say(f"The event of this run's end is told later: {error}")
    notify.tell(workspace, loaded, record, say)
