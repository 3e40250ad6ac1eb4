"""How numbers that were predicted miss those that are true."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.intervals import Interval, bootstrap_mean, resample_means

Floats = NDArray[np.float64]


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
    miss = predicted - true
    squared = bootstrap_mean(miss**2, groups, num_draws, seed)
    columns = np.stack([predicted, true, predicted * true, predicted**2, true**2, miss**2], axis=1)
    found = resample_means(columns, groups, num_draws=num_draws, seed=seed)
    means = columns.mean(axis=0)
    varies = bool(np.ptp(true) > 0)
    slopes = bool(np.ptp(predicted) > 0)

    def bounded(values: Floats, draws: Floats, high: float = np.inf) -> Interval:
        bounds = found.bounds(values, draws, 0.95)
        return Interval(
            value=float(values[0]),
            low=float(bounds[0, 0]),
            high=min(high, float(bounds[1, 0])),
            n=len(true),
            resampled=found.resampled,
            num_units=found.num_units,
        )

    slope = bounded(_slope(means[None]), _slope(found.draws)[:, None]) if slopes else None
    return Residuals(
        mae=bootstrap_mean(np.abs(miss), groups, num_draws, seed).within(0, np.inf),
        rmse=Interval(
            value=sqrt(squared.value),
            low=sqrt(max(0.0, squared.low)),
            high=sqrt(squared.high),
            n=squared.n,
            resampled=squared.resampled,
            num_units=squared.num_units,
        ),
        r2=bounded(_r2(means[None]), _r2(found.draws)[:, None], 1.0) if varies else None,
        bias=bootstrap_mean(miss, groups, num_draws, seed),
        slope=slope,
        intercept=None if slope is None else float(means[1] - slope.value * means[0]),
    )


def _slope(means: Floats) -> Floats:
    variance = means[:, 3] - means[:, 0] ** 2
    covariance = means[:, 2] - means[:, 0] * means[:, 1]
    # A draw of one value only, however unlikely, has no slope: it says nothing, so 0.
    return np.where(variance > 0, covariance / np.where(variance > 0, variance, 1.0), 0.0)


def _r2(means: Floats) -> Floats:
    variance = means[:, 4] - means[:, 1] ** 2
    return np.where(variance > 0, 1 - means[:, 5] / np.where(variance > 0, variance, 1.0), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResiduals:
    """One group's misses."""

    group: str
    bias: float
    spread: float  # standard deviation of the misses
    mae: float
    n: int


def by_group(predicted: Floats, true: Floats, groups: NDArray[Any]) -> tuple[GroupResiduals, ...]:
    """Summarise each group's misses, the largest mean miss first.

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
