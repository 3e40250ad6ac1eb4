"""The rows that an examination may look at: what proves a repair is kept from all of them."""

from pathlib import Path

from stages.answers import Rows, rows_of
from stages.stage import Task

REAL_ROLES = ("diagnose", "fit", "unlabelled")


def seen_rows(roles: Path, dataset: str, task: Task) -> Rows:
    """Read all simulated rows, or the real ones without those of role prove."""
    wanted = None if dataset == "sim" else REAL_ROLES
    return rows_of(roles, dataset, wanted, labelled=False, task=task)
