"""The id of a run: when it began, of which case; their order is the order of the runs."""

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lineage.execute import RUNS
from lineage.run_tags import newest_first

STAMP = "%Y%m%dT%H%M%S"


def new_id(workspace: Path, case: str, started: datetime) -> str:
    """Return an id later than all others: their order is that of the runs, whatever the clock says.

    A clock that was set back would else put a new run behind old ones, and `latest` would be wrong.
    """
    stamp = started
    newest = _newest(workspace)
    if newest is not None and newest >= started.replace(microsecond=0):
        stamp = newest + timedelta(seconds=1)
    return f"{stamp:{STAMP}}-{case}-{secrets.token_hex(4)}"


def _newest(workspace: Path) -> datetime | None:
    """Return when the newest run began; a tag without a record of its run is none of ours."""
    tagged = next(filter(None, map(_began, newest_first(workspace))), None)
    under_way = (_began(folder.name) for folder in (workspace / RUNS).glob("[0-9]*"))
    return max(filter(None, (tagged, *under_way)), default=None)


def _began(run_id: str) -> datetime | None:
    try:
        began = datetime.strptime(run_id.partition("-")[0], STAMP).replace(tzinfo=UTC)
        began + timedelta(days=1)  # the last of all days has none after it
    except (ValueError, OverflowError):
        return None
    return began
