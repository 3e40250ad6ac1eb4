"""Does one set of features lie where the other does? Precision, recall, density, coverage."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK = 512  # rows of a matrix of distances at a time, on either axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Shares in [0, 1] (density may exceed 1), real against simulated.

    `precision`: of simulated rows inside a ball of a real one; `recall`: the other way round;
    `density`: balls of real rows around a simulated one, over `nearest`; `coverage`: of real rows
    whose ball holds a simulated one. A ball reaches to the row's `nearest`-th neighbour.
    """

    precision: float
    recall: float
    density: float
    coverage: float


def overlap(real: ArrayLike, sim: ArrayLike, *, nearest: int = 5) -> Overlap:
    """Compare two sets by their nearest neighbours.

    Precision and recall: Kynkaanniemi et al. 2019; density and coverage: Naeem et al. 2020. Both
    pairs of sets go through blocks of distances, so memory is n x (features + nearest) plus one
    block; time (n_real + n_sim)^2 x features, half of it within a set (each pair once).

    In the type of the features: with float32 a row that lies within some 1e-6 of a ball's surface
    may fall on its other side.

    Args:
        real: (rows, features), finite; more rows than `nearest`.
        sim: (rows, features) of the same width.
        nearest: which neighbour a ball reaches to.

    Raises:
        ValueError: widths differ, rows are too few, or a value is not finite.
    """
    sides = [_checked(side, nearest) for side in (real, sim)]
    if sides[0].shape[1] != sides[1].shape[1]:
        widths = [side.shape[1] for side in sides]
        raise ValueError(f"widths differ: {widths[0]} real, {widths[1]} sim features")
    centre = sides[0].mean(axis=0)  # distances ignore the origin; rounding does not
    (real_rows, real_norms), (sim_rows, sim_norms) = (_normed(side - centre) for side in sides)
    real_radii = _squared_radii(real_rows, real_norms, nearest)
    sim_radii = _squared_radii(sim_rows, sim_norms, nearest)
    num_balls = np.zeros(len(sim_rows), dtype=np.int64)
    recalled, covered = (np.zeros(len(real_rows), dtype=np.bool_) for _ in range(2))
    for start in range(0, len(real_rows), BLOCK):
        own = slice(start, start + BLOCK)
        squared = _squared(real_rows[own], real_norms[own], sim_rows, sim_norms)
        inside = squared < real_radii[own, None]
        num_balls += inside.sum(axis=0)
        covered[own] = inside.any(axis=1)
        recalled[own] = (squared < sim_radii).any(axis=1)
    return Overlap(
        precision=float((num_balls > 0).mean()),
        recall=float(recalled.mean()),
        density=float(num_balls.mean() / nearest),
        coverage=float(covered.mean()),
    )


def _checked(features: ArrayLike, nearest: int) -> NDArray[np.floating]:
    rows = np.asarray(features)
    rows = rows if rows.dtype == np.float32 else rows.astype(np.float64)
    if rows.ndim != 2 or len(rows) <= nearest:  # noqa: PLR2004
        text = f"(more than {nearest} rows, features)"
        raise ValueError(f"the neighbour {nearest} needs {text}: shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("neighbours need finite features: leave the other rows out first")
    return rows


def _normed(
    rows: NDArray[np.floating],
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    return rows, np.einsum("rf,rf->r", rows, rows)


def _squared(
    left: NDArray[np.floating],
    left_norms: NDArray[np.floating],
    right: NDArray[np.floating],
    right_norms: NDArray[np.floating],
) -> NDArray[np.floating]:
    squared = left @ right.T
    squared *= -2
    squared += left_norms[:, None]
    squared += right_norms
    return squared


def _squared_radii(
    rows: NDArray[np.floating], norms: NDArray[np.floating], nearest: int
) -> NDArray[np.floating]:
    """Give (rows,) squared distances to the `nearest`-th other row, each pair computed once."""
    best = np.full((len(rows), nearest), np.inf, dtype=rows.dtype)
    for start in range(0, len(rows), BLOCK):
        own = slice(start, start + BLOCK)
        for other_start in range(start, len(rows), BLOCK):
            other = slice(other_start, other_start + BLOCK)
            squared = _squared(rows[own], norms[own], rows[other], norms[other])
            if other_start == start:
                np.fill_diagonal(squared, np.inf)  # a row is no neighbour of itself
            else:
                best[other] = _smallest(best[other], squared.T, nearest)
            best[own] = _smallest(best[own], squared, nearest)
    return np.asarray(
        np.maximum(best.max(axis=1), 0)
    )  # rounding leaves a little below 0 between equal rows


def _smallest(
    known: NDArray[np.floating], more: NDArray[np.floating], nearest: int
) -> NDArray[np.floating]:
    both = np.concatenate([known, more], axis=1)
    both.partition(nearest - 1, axis=1)
    return both[:, :nearest]
