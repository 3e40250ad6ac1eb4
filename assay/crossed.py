"""How sure a mean is that was taken over repeated fits and over rows, both of them drawn."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.intervals import Interval


def crossed_mean(
    values: ArrayLike, groups_rows: ArrayLike | None = None, level: float = 0.95
) -> Interval:
    """Bound the mean of a table whose fits and whose rows are both samples of more.

    The two variances add (crossed random effects; the interaction, counted twice, makes it mildly
    conservative; Owen 2007): over fits by Student's t, since there are few; over rows by whole
    groups (cluster-robust), since rows of one group rise and fall together. A percentile bootstrap
    over five fits would be too narrow.

    Args:
        values: (fits, rows), finite: right or wrong, or a paired difference.
        groups_rows: (rows,) labels; None, or one group only: rows are independent.
        level: of the two-sided interval.

    Returns:
        `n` counts rows. With one fit the interval is over rows only, and the other way round.

    >>> found = crossed_mean([[1.0, 0.0, 1.0, 0.0]] * 3)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (0.5, -0.07, 1.07)
    """
    from scipy.special import ndtri, stdtrit

    table: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():  # noqa: PLR2004
        raise ValueError(f"expected finite (fits, rows), got {table.shape}")
    num_fits, num_rows = table.shape
    upper = (1 + level) / 2
    squared = (float(ndtri(upper)) * _error_of_rows(table.mean(axis=0), groups_rows)) ** 2
    if num_fits > 1:
        error = table.mean(axis=1).std(ddof=1) / np.sqrt(num_fits)
        squared += (float(stdtrit(num_fits - 1, upper)) * error) ** 2
    value, half = float(table.mean()), float(np.sqrt(squared))
    return Interval(value=value, low=value - half, high=value + half, n=num_rows)


def _error_of_rows(means: NDArray[np.float64], groups_rows: ArrayLike | None) -> float:
    labels: NDArray[Any] = np.arange(len(means)) if groups_rows is None else np.asarray(groups_rows)
    if labels.shape != means.shape:
        raise ValueError(f"one group a row: {len(means)} rows, groups of shape {labels.shape}")
    found, inverse = np.unique(labels, return_inverse=True)
    if len(found) == 1:
        found, inverse = np.arange(len(means)), np.arange(len(means))
    if len(found) == 1:
        return 0.0
    sums = np.bincount(inverse, means - means.mean(), len(found))
    return float(np.sqrt(len(found) / (len(found) - 1) * (sums**2).sum())) / len(means)
