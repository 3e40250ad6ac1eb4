"""The rows that an examination may look at: what proves a repair is kept from all of them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.answers import Rows
from stages.dataset import UNLABELLED, groups_of, labels_of, of, read_roles, targets_of
from stages.stage import Task

REAL_ROLES = ("diagnose", "fit", "unlabelled")


def seen_rows(roles: Path, dataset: str, task: Task) -> Rows:
    """Read all simulated rows, or the real ones without those of role prove."""
    table = read_roles(roles)
    positions = of(table, dataset, None if dataset == "sim" else REAL_ROLES)
    classes = task == "classification"
    labels: NDArray[Any] = labels_of(table, dataset) if classes else targets_of(table, dataset)
    groups = groups_of(table, dataset)
    return Rows(positions=positions, labels=labels[positions], groups=groups[positions])


def labelled(rows: Rows) -> Rows:
    """Keep those that have a label."""
    known = rows.labels != UNLABELLED
    if rows.labels.dtype.kind == "f":
        known = np.isfinite(rows.labels)
    return Rows(
        positions=rows.positions[known], labels=rows.labels[known], groups=rows.groups[known]
    )
