"""A run from its opening to the last who is told of it: guarded, followed, concluded.

`assay run`, `assay rerun` and the flows of `assay serve` differ in what they open, and in how its
stages get into Prefect; all else is here.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flows import current, flow_states, guard, run_end, server
from flows.cli_words import status_of
from flows.investigation import Investigation, Say
from lineage.provenance import RunRecord

Start = Callable[[], Investigation]
"""Opens a run."""

Follow = Callable[[Investigation], None]
"""Brings its stages up to date; raises what ended it early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended, and by what if it was early."""

    record: RunRecord
    error: BaseException | None

    @property
    def end(self) -> flow_states.End:
        """Return what Prefect is to show of it."""
        gate = {"verdict": self.record.verdict, "because": self.record.because}
        cancelled = self.record.state == "cancelled"
        return flow_states.end_of(self.record.id, gate, self.error, cancelled=cancelled)


def go(
    root: Path,
    start: Start,
    follow: Follow,
    say: Say,
    *,
    told: bool,
    concluded: Callable[[Ended], None] = lambda _ended: None,
) -> Ended:
    """Open a run, follow it to its end, write that down, and tell whom it concerns.

    Args:
        root: the workspace.
        start: opens the run.
        follow: brings its stages up to date.
        say: takes progress.
        told: `follow` tells Prefect of the end; where it does not, or the server was away then, the
            end is owed: written down for whoever comes next, see `flow_states.settle`.
        concluded: called once the run has its tag, before anybody is told.
    """
    with guard.guarded(root):
        investigation = start()
        try:
            error, heard = _followed(investigation, follow)
            record = investigation.conclude(error)
        except BaseException as broken:
            investigation.conclude(broken)
            raise
        finally:
            os.chdir(root)
        ended = Ended(record=record, error=error)
        if not (told and heard):
            flow_states.owe(root, record.flow_run_id, ended.end)
        concluded(ended)
        run_end.tell(root, investigation.loaded, record, say)
        return ended


def _followed(investigation: Investigation, follow: Follow) -> tuple[BaseException | None, bool]:
    """Follow a run; return what ended it, if anything did, and whether the server was there."""
    current.register(investigation)
    try:
        follow(investigation)
    except (Exception, KeyboardInterrupt) as broken:  # noqa: BLE001  told to the record, then to the person
        error = investigation.error or broken
        if not server.answers() or flow_states.is_busy(error):
            return _without_server(investigation, error), False
        return error, not flow_states.is_busy(broken)
    finally:
        current.forget(investigation.run.id)
    return investigation.error, True


def _without_server(investigation: Investigation, error: BaseException) -> BaseException | None:
    """Judge a run whose server went away: all that it was needed for may have been done."""
    whole = investigation.finished and investigation.error is None
    if whole and not isinstance(error, KeyboardInterrupt):
        investigation.say("Prefect's server is away; it is told by the next run")
        return None
    ours = status_of(error) is None and not investigation.cancel.is_set()
    return server.ServerLost() if ours else error
