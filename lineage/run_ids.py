"""The id of a run: when it began, of which case; their order is the order of the runs."""

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lineage import git
from lineage.execute import RUNS
from lineage.run_tags import PREFIX

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
    last = ("--sort=-refname", "--count=1", "--format=%(refname:lstrip=3)")
    ids = [git.text(workspace, "for-each-ref", *last, PREFIX)]
    ids += [folder.name for folder in (workspace / RUNS).glob("[0-9]*")]
    try:
        newest = datetime.strptime(max(ids).partition("-")[0], STAMP).replace(tzinfo=UTC)
        newest + timedelta(days=1)  # the last of all days has none after it
    except (ValueError, OverflowError):
        return None
    return newest
