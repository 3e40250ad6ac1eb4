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
    conservative; Owen 2007): over fits, and over rows by whole groups (cluster-robust), since rows
    of one group rise and fall together. Both by Student's t, as there are few fits and few groups
    (G - 1 degrees of freedom; Bell and McCaffrey 2002); coverage is in `assay.intervals`.

    Args:
        values: (fits, rows), finite: right or wrong, or a paired difference.
        groups_rows: (rows,) labels; None, or one group only: rows are independent.
        level: of the two-sided interval.

    Returns:
        `n` counts rows. With one fit the interval is over rows only, and the other way round.

    >>> found = crossed_mean([[1.0, 0.0, 1.0, 0.0]] * 3)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (0.5, -0.42, 1.42)
    """
    from scipy.special import stdtrit

    table: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():  # noqa: PLR2004
        raise ValueError(f"expected finite (fits, rows), got {table.shape}")
    num_fits, num_rows = table.shape
    upper = (1 + level) / 2
    units, grouped = _units(num_rows, groups_rows)
    num_units, squared = int(units.max()) + 1, 0.0
    if num_units > 1:
        error = _error_of_rows(table.mean(axis=0), units)
        squared += (float(stdtrit(num_units - 1, upper)) * error) ** 2
    if num_fits > 1:
        error = table.mean(axis=1).std(ddof=1) / np.sqrt(num_fits)
        squared += (float(stdtrit(num_fits - 1, upper)) * error) ** 2
    value, half = float(table.mean()), float(np.sqrt(squared))
    return Interval(
        value=value,
        low=value - half,
        high=value + half,
        n=num_rows,
        resampled="groups" if grouped else "rows",
        num_units=num_units,
    )


def _units(num_rows: int, groups_rows: ArrayLike | None) -> tuple[NDArray[np.intp], bool]:
    """Number the groups 0, 1, ... row by row; one group only, or none: each row is a unit."""
    labels: NDArray[Any] = np.arange(num_rows) if groups_rows is None else np.asarray(groups_rows)
    if labels.shape != (num_rows,):
        raise ValueError(f"one group a row: {num_rows} rows, groups of shape {labels.shape}")
    found, inverse = np.unique(labels, return_inverse=True)
    if len(found) == 1:
        return np.arange(num_rows), False
    return inverse, groups_rows is not None


def _error_of_rows(means: NDArray[np.float64], units: NDArray[np.intp]) -> float:
    sums = np.bincount(units, means - means.mean())
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum())) / len(means)
