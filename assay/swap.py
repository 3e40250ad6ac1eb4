"""Whose fault the gap is: exact Shapley shares from the cells of a factorial swap."""

from collections.abc import Mapping
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.intervals import Interval, resample_means

MAX_COMPONENTS = 5  # 32 cells; beyond that a full factorial swap is not what one would run


def shapley_intervals(
    correct_cells: Mapping[frozenset[str], ArrayLike],
    groups: ArrayLike | None,
    num_draws: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Interval]:
    """Share what the mean does from the empty to the full cell among the components (Shapley 1953).

    A share is the mean, over all orders of swapping, of what the metric does when the component is
    swapped. The shares add up to full minus empty; a component that never matters gets 0. Each is
    bounded by a bootstrap over groups, with the same draws in all cells.

    Args:
        correct_cells: (rows,) booleans or numbers a cell, over the same rows.
        groups: (rows,) labels; None, or one group only, resamples rows instead.
        num_draws: how many resamples.
        seed: of the generator.
        level: of the two-sided intervals.

    Raises:
        ValueError: a cell is missing or has other rows, or there are more than five components.

    >>> cells = {frozenset(): [1, 1, 1, 1], frozenset({"model"}): [1, 0, 1, 0]}
    >>> shapley_intervals(cells, None)["model"].value
    -0.5
    """
    components, subsets = _layout(correct_cells)
    columns = [np.asarray(correct_cells[subset], dtype=np.float64) for subset in subsets]
    if (
        len({column.shape for column in columns}) != 1
        or columns[0].ndim != 1
        or not len(columns[0])
    ):
        raise ValueError(f"cells need the same rows: {[column.shape for column in columns]}")
    values = np.stack(columns, axis=1)
    weights = _weights(components, subsets)
    found = resample_means(values, groups, num_draws=num_draws, seed=seed)
    shares = weights @ values.mean(axis=0)
    bounds = found.bounds(shares, found.draws @ weights.T, level)
    return {
        component: Interval(
            value=float(shares[at]),
            low=float(bounds[0, at]),
            high=float(bounds[1, at]),
            n=len(values),
            resampled=found.resampled,
            num_units=found.num_units,
        )
        for at, component in enumerate(components)
    }


def _layout(cells: Mapping[frozenset[str], object]) -> tuple[list[str], list[frozenset[str]]]:
    components = sorted(frozenset().union(*cells))
    if len(components) > MAX_COMPONENTS:
        raise ValueError(f"at most {MAX_COMPONENTS} components can be swapped: {components}")
    subsets = [
        frozenset(chosen)
        for size in range(len(components) + 1)
        for chosen in combinations(components, size)
    ]
    missing = [sorted(subset) for subset in subsets if subset not in cells]
    if missing:
        raise ValueError(f"a swap needs every cell; missing: {missing}")
    return components, subsets


def _weights(components: list[str], subsets: list[frozenset[str]]) -> NDArray[np.float64]:
    """Give the (components, cells) matrix that turns cells into shares: Shapley is linear."""
    size = len(components)
    weights = np.zeros((size, len(subsets)))
    for row, component in enumerate(components):
        for column, subset in enumerate(subsets):
            others = len(subset - {component})
            weight = factorial(others) * factorial(size - others - 1) / factorial(size)
            weights[row, column] = weight if component in subset else -weight
    return weights
