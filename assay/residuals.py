"""How numbers that were predicted miss those that are true."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.intervals import Interval, resample_means

Floats = NDArray[np.float64]
SQUARED, ABSOLUTE = 5, 6  # columns of misses, behind the moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """Prediction minus truth, in the unit of the target; R2 has none."""

    mae: Interval
    rmse: Interval
    r2: Interval | None  # None where all true values are one
    bias: Interval  # mean of prediction minus truth
    slope: Interval | None  # of truth over prediction: 1 is calibrated, below 1 too far out
    intercept: float | None  # of the same line


def residuals(
    predicted: Floats,
    true: Floats,
    groups: NDArray[Any] | None,
    *,
    num_draws: int = 2000,
    seed: int = 0,
) -> Residuals:
    """Bound the usual figures by a bootstrap over groups; each draw brings its own variance.

    Args:
        predicted: (rows,) finite.
        true: (rows,) finite.
        groups: (rows,) or None.
        num_draws: of the bootstrap.
        seed: of the bootstrap.

    >>> found = residuals(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]), None, num_draws=50)
    >>> round(found.mae.value, 3), round(found.r2.value, 3), round(found.bias.value, 3)
    (0.333, 0.5, 0.333)
    """
    # About the mean of what is true: squares of numbers far from 0 would leave no digits.
    centre = float(true.mean())
    made, wanted, miss = predicted - centre, true - centre, predicted - true
    columns = [made, wanted, made * wanted, made**2, wanted**2, miss**2, np.abs(miss)]
    rows = np.stack(columns, axis=1)
    found = resample_means(rows, groups, num_draws=num_draws, seed=seed)

    def bounded(figure: Callable[[Floats], Floats]) -> Interval:
        values = figure(rows.mean(axis=0)[None])
        low, high = found.bounds(values, figure(found.draws)[:, None], 0.95)[:, 0]
        return Interval(
            value=float(values[0]),
            low=float(low),
            high=float(high),
            n=len(true),
            resampled=found.resampled,
            num_units=found.num_units,
        )

    squared = bounded(lambda means: means[:, SQUARED]).within(0, inf)
    slope = bounded(_slope) if np.ptp(predicted) > 0 else None
    return Residuals(
        mae=bounded(lambda means: means[:, ABSOLUTE]).within(0, inf),
        rmse=replace(
            squared, value=sqrt(squared.value), low=sqrt(squared.low), high=sqrt(squared.high)
        ),
        r2=bounded(_r2).within(-inf, 1) if np.ptp(true) > 0 else None,
        bias=bounded(lambda means: means[:, 0] - means[:, 1]),
        slope=slope,
        intercept=None if slope is None else float(true.mean() - slope.value * predicted.mean()),
    )


def _slope(means: Floats) -> Floats:
    variance = means[:, 3] - means[:, 0] ** 2
    covariance = means[:, 2] - means[:, 0] * means[:, 1]
    # A draw of one value only, however unlikely, has no slope: it says nothing, so 0.
    return np.where(variance > 0, covariance / np.where(variance > 0, variance, 1.0), 0.0)


def _r2(means: Floats) -> Floats:
    variance = means[:, 4] - means[:, 1] ** 2
    return np.where(
        variance > 0, 1 - means[:, SQUARED] / np.where(variance > 0, variance, 1.0), 0.0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResiduals:
    """One group's misses."""

    group: str
    bias: float
    spread: float  # standard deviation of the misses
    mae: float
    n: int


def by_group(predicted: Floats, true: Floats, groups: NDArray[Any]) -> tuple[GroupResiduals, ...]:
    """Summarise each group's misses, the largest mean absolute miss first.

    >>> by_group(np.array([1.0, 5.0]), np.array([1.0, 1.0]), np.array(["a", "b"]))[0].group
    'b'
    """
    found = []
    for group in np.unique(groups):
        miss = (predicted - true)[groups == group]
        found.append(
            GroupResiduals(
                group=str(group),
                bias=float(miss.mean()),
                spread=float(miss.std()),
                mae=float(np.abs(miss).mean()),
                n=len(miss),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.mae, one.group)))
