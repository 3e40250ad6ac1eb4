"""Is a figure good enough? An interval against a threshold: passed, failed, or cannot tell."""

from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.intervals import Interval, bootstrap_mean, wilson


def accuracy(
    correct: NDArray[np.bool_],
    groups: NDArray[Any] | None,
    *,
    num_draws: int,
    seed: int,
    confidence: float = 0.95,
) -> Interval:
    """Bound a share of right answers by the wider of Wilson's and the bootstrap over groups.

    The bootstrap knows that rows of one group fail together; Wilson knows that 20 out of 20 is not
    certainty. Each is too narrow where the other is needed, so both have to agree.

    Args:
        correct: (rows,), at least one.
        groups: (rows,) labels of any kind, or None; as many groups as rows are no groups.
        num_draws: resamples of the bootstrap.
        seed: of the bootstrap.
        confidence: of the two-sided interval.

    >>> found = accuracy(np.array([True] * 20), None, num_draws=100, seed=0)
    >>> found.value, round(found.low, 3)
    (1.0, 0.839)
    """
    by_rows = wilson(int(correct.sum()), len(correct), confidence)
    if groups is None or len(np.unique(groups)) in (1, len(correct)):
        return by_rows
    by_groups = bootstrap_mean(correct, groups, num_draws, seed, confidence).within(0, 1)
    return Interval(
        value=by_rows.value,
        low=min(by_rows.low, by_groups.low),
        high=max(by_rows.high, by_groups.high),
        n=by_rows.n,
        resampled=by_groups.resampled,
        num_units=by_groups.num_units,
    )


def drop(before: Interval, after: Interval) -> Interval:
    """Bound `before - after` for two independent sets of rows.

    Newcombe 1998, method 10, generalised by Zou and Donner 2008: it needs each set's own interval
    only, so it holds for Wilson's and for clustered ones. `n` is that of the smaller set.

    >>> found = drop(wilson(90, 100), wilson(40, 100))
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (0.5, 0.38, 0.6)
    """
    value = before.value - after.value
    below = sqrt((before.value - before.low) ** 2 + (after.high - after.value) ** 2)
    above = sqrt((before.high - before.value) ** 2 + (after.value - after.low) ** 2)
    fewer = min((before, after), key=lambda interval: interval.n)
    return Interval(
        value=value,
        low=value - below,
        high=value + above,
        n=fewer.n,
        resampled=fewer.resampled,
        num_units=fewer.num_units,
    )


def at_least(found: Interval, threshold: float, min_rows: int) -> bool | None:
    """Tell whether the whole interval reaches the threshold; None: it straddles, or rows are few.

    Few rows may fail, as their interval is as wide as they are few; only passing asks for
    `min_rows`. An interval without width shows nothing where rows are few.

    >>> at_least(wilson(99, 100), 0.9, 30), at_least(wilson(10, 10), 0.5, 30)
    (True, None)
    >>> at_least(wilson(1, 10), 0.9, 30)
    False
    """
    if found.low < threshold <= found.high:
        return None
    return _enough(found, min_rows, passed=found.low >= threshold)


def at_most(found: Interval, threshold: float, min_rows: int) -> bool | None:
    """Tell whether the whole interval stays below it; None: it straddles, or rows are few."""
    if found.low <= threshold < found.high:
        return None
    return _enough(found, min_rows, passed=found.high <= threshold)


def _enough(found: Interval, min_rows: int, *, passed: bool) -> bool | None:
    few = found.n < min_rows and (passed or found.low == found.high)
    return None if few else passed


def verdict(passed: list[bool | None]) -> Literal["open", "closed", "abstained"]:
    """Open when all criteria pass, closed when one fails, else abstained.

    >>> verdict([True, None]), verdict([True, None, False]), verdict([])
    ('abstained', 'closed', 'abstained')
    """
    if False in passed:
        return "closed"
    return "open" if passed and None not in passed else "abstained"
