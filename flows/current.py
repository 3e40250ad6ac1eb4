"""The investigations of this process, by run id.

A flow that is served is pickled by value; what cannot be pickled (events, engines) stays here.
"""

from flows.investigation import Investigation

_OPEN: dict[str, Investigation] = {}


def register(investigation: Investigation) -> str:
    """Remember a run under way and return its id."""
    _OPEN[investigation.run.id] = investigation
    return investigation.run.id


def get(run_id: str) -> Investigation:
    """Return a run under way in this process."""
    return _OPEN[run_id]


def forget(run_id: str) -> None:
    """Drop a run that has ended."""
    _OPEN.pop(run_id, None)
