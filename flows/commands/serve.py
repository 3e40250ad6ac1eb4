"""`assay serve`: runs start by their schedule, by a deploy event, and by hand in Prefect's UI."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flows import server, workspace
from flows.case import LoadedCase, case_names, load_case
from flows.cli_words import Answer
from flows.faults import Faults
from flows.investigation import Say
from flows.prefect_api import ApiFailed
from flows.serving import TICK_S, Serving
from lineage import runs
from lineage.fence import fence_or_skip

AGAIN_S = 5.0  # between two tries to reach a server that is away


class Served(Exception):  # noqa: N818  reads as the fact that it is
    """This workspace is served already."""

    exit_status = 2


def serve(cases: Sequence[str], limit: int, say: Say) -> Answer:
    """Serve until a signal; runs under way go on, and the next `assay serve` finds them."""
    root = workspace.find(Path.cwd())
    loaded = _load(root, cases or case_names(root))
    with fence_or_skip(root / ".assay/serve.lock") as mine:
        if not mine:
            raise Served("Another `assay serve` serves this workspace: end that one first.")
        runs.reconcile(root, say)
        own = "PREFECT_API_URL" not in os.environ
        _reach(root, say)
        # A schedule that was taken out of case.yaml ends.
        os.environ["PREFECT_DEPLOYMENTS_CLEAR_SCHEDULES_ON_EMPTY"] = "true"
        from flows.deployments import put  # Prefect reads its settings when it is imported

        serving = Serving(root, put(loaded, None if own else root), say, limit)
        with _until_signal() as stop:
            for one in loaded:
                say(f"{one.name}: {_told(one)}")
            say(f"serving {len(loaded)} cases; Prefect's UI: {_ui()}")
            _loop(serving, stop, own=own)
        under_way = serving.under_way()
    data = {"cases": [one.name for one in loaded], "under_way": under_way}
    return data, f"no longer serving; {len(under_way)} runs go on by themselves", 0


def _load(root: Path, names: Sequence[str]) -> list[LoadedCase]:
    loaded: list[LoadedCase] = []
    faults: list[str] = []
    for name in names:
        try:
            loaded.append(load_case(root, name))
        except Faults as error:
            faults += error.faults
    if faults:
        raise Faults(*faults)
    if not loaded:
        raise Faults("There is no case to serve: assay new CASE")
    return loaded


def _told(loaded: LoadedCase) -> str:
    schedule = loaded.case.schedule
    when = f"at {schedule.cron} ({schedule.timezone}), " if schedule else ""
    return f"{when}when it is deployed, and by hand"


def _reach(root: Path, say: Say) -> None:
    os.environ.update(server.environment(server.ensure(root, say), root))


def _ui() -> str:
    return os.environ["PREFECT_API_URL"].removesuffix("/api")


def _loop(serving: Serving, stop: threading.Event, *, own: bool) -> None:
    """Tick; a server that is away ends nothing here."""
    reconciled, away = False, False
    while not stop.is_set():
        try:
            if not reconciled:
                serving.reconcile()
                reconciled = True
            serving.tick()
            away = False
        except (ApiFailed, OSError) as error:
            if not away:
                serving.say(f"{error} Trying again.")
            away = True
            # What was asked may have been done, and its answer lost.
            reconciled = False
            stop.wait(AGAIN_S)
            if own:
                _restart(serving)
        else:
            stop.wait(TICK_S)


def _restart(serving: Serving) -> None:
    """Start the workspace's own server again, at its address, if it is gone and not only slow."""
    known = os.environ.pop("PREFECT_API_URL")
    try:
        if server.status(serving.workspace) is None:
            _reach(serving.workspace, serving.say)
    except server.ServerError as error:
        serving.say(str(error))
    finally:
        os.environ.setdefault("PREFECT_API_URL", known)


@contextmanager
def _until_signal() -> Iterator[threading.Event]:
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
