"""The investigations of this process, by run id.

A flow that is served is pickled by value; what cannot be pickled (events, engines) stays here.
"""

from flows.investigation import Investigation

_OPEN: dict[str, Investigation] = {}


class NotUnderWay(Exception):  # noqa: N818  reads as the fact that it is
    """A flow run was tried again after its run had ended: another process, or a later try."""

    exit_status = 2

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} is over, and its flow run cannot go on with it. Repeat it, with what "
            f"was finished restored: assay rerun {run_id}"
        )


def register(investigation: Investigation) -> str:
    """Remember a run under way and return its id."""
    _OPEN[investigation.run.id] = investigation
    return investigation.run.id


def get(run_id: str) -> Investigation:
    """Return a run under way in this process.

    Raises:
        NotUnderWay: it is none.
    """
    if run_id not in _OPEN:
        raise NotUnderWay(run_id)
    return _OPEN[run_id]


def forget(run_id: str) -> None:
    """Drop a run that has ended."""
    _OPEN.pop(run_id, None)
