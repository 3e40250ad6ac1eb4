"""How many labels would decide: rows, and groups where the rows of one rise and fall together.

All are guesses before the fact, by the normal approximation at a power of 80 % against two-sided
95 %: a share by the score test's formula, whose variance differs at the threshold and at the truth
(Fleiss, Levin and Paik 2003, chapter 2); a difference of two samples by the sum of their
variances (there, chapter 4). Rows in groups of m count as m / (1 + (m - 1) ICC) independent ones
(Kish 1965), and few groups are few: Student's quantile widens as in `assay.intervals`.
"""

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.intervals import Interval, few_units

ALPHA_Z = NormalDist().inv_cdf(0.975)
POWER_Z = NormalDist().inv_cdf(0.8)
MOST_GROUPS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """Labels that would decide; `groups` None where rows count one by one."""

    rows: int
    groups: int | None = None

    def __str__(self) -> str:
        """Write it.

        >>> str(Needed(rows=120)), str(Needed(rows=120, groups=9))
        ('120 rows', '120 rows in 9 groups')
        """
        return f"{self.rows} rows" + (f" in {self.groups} groups" if self.groups else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """How rows come: so many to a group, and how alike the scores of one group are."""

    size: float
    icc: float

    @property
    def design_effect(self) -> float:
        """By how much rows in groups weigh less than rows that are independent."""
        return 1 + (self.size - 1) * self.icc


def rows_to_decide(found: Interval, threshold: float) -> Needed | None:
    """Guess what would put the threshold outside the interval; None at the threshold itself.

    The width shrinks with the root of what was drawn: of groups where the interval rests on them.
    It takes today's value for the true one.

    >>> from assay.intervals import wilson
    >>> str(rows_to_decide(wilson(92, 100), 0.9))
    '1225 rows'
    """
    distance = abs(found.value - threshold)
    half = found.value - found.low if found.value > threshold else found.high - found.value
    if distance == 0:
        return None
    factor = (half / distance) ** 2
    groups = found.groups
    return Needed(rows=ceil(found.n * factor), groups=groups and ceil(groups * factor))


def rows_to_reach(
    assumed: float, threshold: float, deviation: float | None, clusters: Clusters | None = None
) -> Needed | None:
    """Guess what would show that a level lies beyond a threshold, if it is what is assumed.

    Args:
        assumed: the level that is taken for the true one.
        threshold: to be left on the other side of the interval.
        deviation: of the rows' scores; None: they are a share's, 0 and 1.
        clusters: how the rows come; None: one by one.

    Returns:
        None where the assumed level is the threshold.

    >>> str(rows_to_reach(0.97, 0.9, None))
    '110 rows'
    """
    if assumed == threshold:
        return None
    there, here = (_deviation(value, deviation) for value in (threshold, assumed))
    wanted = ((ALPHA_Z * there + POWER_Z * here) / (assumed - threshold)) ** 2
    return _rows(wanted, clusters)


def rows_to_see(
    drop: float, before: Interval, deviation: float | None, clusters: Clusters | None = None
) -> Needed | None:
    """Guess what would show a drop of this size from a level that is known so well.

    Args:
        drop: below the level before.
        before: with its interval, which takes its share of the doubt.
        deviation: of the rows' scores after; None: they are a share's.
        clusters: how the rows after come.

    Returns:
        None where the level before is too unsure for any number of rows to show it.

    >>> from assay.intervals import wilson
    >>> str(rows_to_see(0.05, wilson(970, 1000), None))
    '255 rows'
    """
    z = ALPHA_Z + POWER_Z
    error = (before.high - before.low) / 2 / ALPHA_Z
    left = (drop / z) ** 2 - error**2
    if left <= 0:
        return None
    return _rows(_deviation(before.value - drop, deviation) ** 2 / left, clusters)


def clusters_of(scores_rows: ArrayLike, groups_rows: ArrayLike | None) -> Clusters | None:
    """Estimate how alike the scores of a group are (ANOVA; Donner and Koval 1980).

    Returns:
        None where there are no groups of several rows, or only one.

    >>> clusters_of([1, 1, 0, 0], ["a", "a", "b", "b"]).icc
    1.0
    """
    if groups_rows is None:
        return None
    values: NDArray[np.float64] = np.asarray(scores_rows, dtype=np.float64)
    _, inverse = np.unique(np.asarray(groups_rows), return_inverse=True)
    sizes = np.bincount(inverse).astype(np.float64)
    num_groups, num_rows = len(sizes), len(values)
    if num_groups < 2 or num_groups == num_rows:  # noqa: PLR2004
        return None
    means = np.bincount(inverse, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (num_groups - 1)
    inside = float(((values - means[inverse]) ** 2).sum()) / (num_rows - num_groups)
    typical = (num_rows - float((sizes**2).sum()) / num_rows) / (num_groups - 1)
    total = between + (typical - 1) * inside
    icc = 0.0 if total <= 0 else (between - inside) / total
    return Clusters(size=num_rows / num_groups, icc=min(1.0, max(0.0, icc)))


def _deviation(share: float, deviation: float | None) -> float:
    inside = min(1.0, max(0.0, share))
    return sqrt(inside * (1 - inside)) if deviation is None else deviation


def _rows(independent: float, clusters: Clusters | None) -> Needed:
    if clusters is None:
        return Needed(rows=max(2, ceil(independent)))
    wanted = independent * clusters.design_effect / clusters.size
    groups = max(2, ceil(wanted))
    while groups < wanted * few_units(groups) ** 2 and groups < MOST_GROUPS:
        groups += max(1, groups // 50)
    return Needed(rows=max(2, ceil(groups * clusters.size)), groups=groups)
