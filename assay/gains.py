"""What a change buys, row by row on the same rows: its interval, its p, and who loses by it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.crossed import crossed_mean
from assay.intervals import Interval, never_certain

ROUNDING = 1e-12  # of the largest difference: groups whose means are equal but for that are alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A mean of paired differences; `p_value` is two-sided, against no difference."""

    interval: Interval
    p_value: float


def paired_gain(
    before: ArrayLike,
    after: ArrayLike,
    groups: ArrayLike | None,
    *,
    level: float = 0.95,
    is_share: bool = True,
) -> Gain:
    """Bound the mean of `after - before` by Student's t over whole groups, see `crossed_mean`.

    Interval and p come of the same error: the interval at 95 % holds 0 just where p is above .05.
    Rows that are all alike have no spread to go by. A share's interval is then that of the rule of
    three, and the p that of the sign test over its units.

    Args:
        before: (rows,) scores.
        after: (rows,) scores of the same rows.
        groups: (rows,) labels; None: rows count one by one.
        level: of the interval.
        is_share: scores are 0 and 1.

    >>> found = paired_gain([0, 0, 0, 1] * 10, [1, 0, 1, 1] * 10, None)
    >>> found.interval.value, found.p_value < 0.001
    (0.5, True)
    """
    differences: NDArray[np.float64] = np.asarray(after, np.float64) - np.asarray(
        before, np.float64
    )
    found = crossed_mean(differences[None], groups, level)
    units = found.num_units or found.n
    if found.high - found.low <= ROUNDING * float(np.abs(differences).max()):
        found = replace(found, low=found.value, high=found.value)
        widened = never_certain(found) if is_share else found
        return Gain(
            interval=widened, p_value=1.0 if found.value == 0 else min(1.0, 2.0 ** (1 - units))
        )
    from scipy.special import stdtr, stdtrit

    error = (found.high - found.value) / float(stdtrit(units - 1, (1 + level) / 2))
    p_value = 2 * float(stdtr(units - 1, -abs(found.value) / error))
    within = found.within(-1, 1) if is_share else found
    return Gain(interval=within, p_value=min(1.0, p_value))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoss:
    """What one group loses, and how likely it is to lose no more than the margin."""

    group: str
    loss: float
    n: int
    p_value: float  # one-sided


def group_losses(
    before: ArrayLike, after: ArrayLike, groups: NDArray[Any], *, margin: float, min_rows: int
) -> tuple[list[GroupLoss], list[str]]:
    """Test for each group whether it loses more than a margin (one-sided t over its rows).

    Returns:
        The groups that were tested, and the names of those with too few rows.

    >>> lost, few = group_losses([1] * 9, [0] * 8 + [1], np.array(["a"] * 8 + ["b"]),
    ...                          margin=0.1, min_rows=5)
    >>> lost[0].group, lost[0].p_value < 0.01, few
    ('a', True, ['b'])
    """
    losses: NDArray[np.float64] = np.asarray(before, np.float64) - np.asarray(after, np.float64)
    tested, few = [], []
    for group in np.unique(groups):
        own = losses[groups == group]
        if len(own) < max(2, min_rows):
            few.append(str(group))
            continue
        p_value = _above(own, margin)
        tested.append(
            GroupLoss(group=str(group), loss=float(own.mean()), n=len(own), p_value=p_value)
        )
    return tested, few


def _above(values: NDArray[np.float64], margin: float) -> float:
    """Return the p of a mean that is no larger than the margin."""
    from scipy.special import stdtr

    excess, error = float(values.mean()) - margin, float(values.std(ddof=1)) / len(values) ** 0.5
    if excess <= 0:
        return 1.0
    if error == 0:
        return float(2.0 ** -len(values))
    return float(stdtr(len(values) - 1, -excess / error))
