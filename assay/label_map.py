"""Two lists of labels of the same rows: whether one is the other under other names.

A list of classes that was sorted anew, an index that begins at 1: each label of the one is always
the same label of the other, and no two share one. Labels are matched on their cross table by the
Hungarian method (Kuhn 1955).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_ROWS = 4
SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMap:
    """Which label stands for which."""

    changed: dict[int, int]  # reference's label -> candidate's, of those that are others
    offset: int | None  # the same for all of them
    around: bool  # past the last label it begins anew
    agreement: float  # share of rows with one label
    explained: float  # share of rows with one label once the names are put right

    @property
    def says(self) -> str:
        """Name the classes that are exchanged.

        >>> found = label_map([0, 1, 2, 0, 1, 2], [1, 2, 3, 1, 2, 3], least=1.0)
        >>> found.says
        'all labels are greater by 1'
        """
        if self.offset is not None:
            word = "greater" if self.offset > 0 else "smaller"
            around = ", counted around" if self.around else ""
            return f"all labels are {word} by {abs(self.offset)}{around}"
        pairs = [f"{ours} as {theirs}" for ours, theirs in self.changed.items()]
        more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        return "labels are exchanged: " + ", ".join(pairs[:SHOWN]) + more


def label_map(
    reference: ArrayLike, candidate: ArrayLike, *, least: float = 0.98
) -> LabelMap | None:
    """Match labels one to one; None where that does not make the rows agree.

    Args:
        reference: (rows,) whole numbers.
        candidate: of the same rows.
        least: share of rows that must agree once the names are put right.
    """
    ours, theirs = np.asarray(reference), np.asarray(candidate)
    if len(ours) < LEAST_ROWS:
        return None
    agreement = float(np.mean(ours == theirs))
    table, left, right = cross_table(ours, theirs)
    rows, columns = match(table, left, right)
    explained = float(table[rows, columns].sum()) / len(ours)
    changed = {
        int(left[row]): int(right[column])
        for row, column in zip(rows, columns, strict=True)
        if left[row] != right[column] and table[row, column]
    }
    if not changed or explained < least or explained <= agreement:
        return None
    whole = len(changed) == int((table.sum(axis=1) > 0).sum())
    offset, around = _offset(changed) if whole else (None, False)
    return LabelMap(
        changed=changed,
        offset=offset,
        around=around,
        agreement=agreement,
        explained=explained,
    )


def _offset(changed: dict[int, int]) -> tuple[int | None, bool]:
    steps = [theirs - ours for ours, theirs in changed.items()]
    if len(steps) > 1 and len(set(steps)) == 1:
        return steps[0], False
    around = {step % len(steps) for step in steps}
    if len(steps) > 2 and len(around) == 1:  # noqa: PLR2004  of two labels it is an exchange
        step = around.pop()
        return step if step <= len(steps) // 2 else step - len(steps), True
    return None, False


def cross_table(
    ours: NDArray[np.integer], theirs: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count rows by both labels; the labels of the rows and of the columns of the table."""
    left, row = np.unique(ours, return_inverse=True)
    right, column = np.unique(theirs, return_inverse=True)
    flat = np.bincount(row * len(right) + column, minlength=len(left) * len(right))
    return flat.reshape(len(left), len(right)), left.astype(np.int64), right.astype(np.int64)


def match(
    table: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Assign columns to rows for the largest sum; between equal sums a label keeps its name."""
    from scipy.optimize import linear_sum_assignment

    own = (left[:, None] == right[None]).astype(np.float64)
    rows, columns = linear_sum_assignment(table + own * (0.5 / (len(left) + 1)), maximize=True)
    return np.asarray(rows), np.asarray(columns)


def relabelled(labels: ArrayLike, changed: dict[int, int]) -> NDArray[np.int64]:
    """Give the candidate's labels the reference's names back.

    >>> relabelled([1, 2, 7], {0: 1, 1: 2}).tolist()
    [0, 1, 7]
    """
    back = {theirs: ours for ours, theirs in changed.items()}
    return np.array([back.get(int(one), int(one)) for one in np.asarray(labels)], np.int64)


def right_once_renamed(
    right: NDArray[np.int64], given: NDArray[np.int64], groups: NDArray[Any]
) -> float:
    """Return the share of labels that are right by names that other rows' labels asked for.

    Each half of the groups is renamed by the map of the other half: of 20 rows of 10 classes the
    best map makes half right by chance, of rows that it was not matched on a tenth.

    Args:
        right: (rows,) whole numbers.
        given: (rows,) labels that may go by other names.
        groups: (rows,) labels of any kind; of one group rows are halved instead.

    >>> right = np.arange(12) % 3
    >>> right_once_renamed(right, (right + 1) % 3, np.arange(12) // 3)
    1.0
    """
    _, unit = np.unique(groups, return_inverse=True)
    unit = unit if unit.any() else np.arange(len(right))
    # Dealt at random: every other row of a set may be every other class.
    half = np.random.default_rng(0).permutation(int(unit.max()) + 1)[unit] % 2
    hits = 0
    for part in (0, 1):
        own = half == part
        found = label_map(right[~own], given[~own], least=0.0)
        renamed = relabelled(given[own], found.changed if found else {})
        hits += int((renamed == right[own]).sum())
    return hits / len(right)
