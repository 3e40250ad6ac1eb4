"""A flat picture of two sets of features, in which neither side chose the axes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """`sim_xy` (sim rows, axes), `real_xy` (real rows, axes), in the units of the features.

    `explained` is (axes,): the share of the variance (each side weighing one half) on each axis.
    All zero where nothing varies.
    """

    sim_xy: NDArray[np.float64]
    real_xy: NDArray[np.float64]
    explained: NDArray[np.float64]


def project(sim: ArrayLike, real: ArrayLike, num_axes: int = 2) -> Projection:
    """Project both sides onto the principal axes of the two together, each side weighing one half.

    Axes fitted on one side hide the directions in which only the other varies, and axes of plain
    pooling belong to the larger side. The sign of an axis: its largest loading is positive. Axes
    beyond the rank are zero.

    Args:
        sim: (sim rows, features), finite.
        real: (real rows, features), finite.
        num_axes: of the picture.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (sim, real)]
    sides = [side.reshape(len(side), -1) for side in sides if len(side)]
    if len(sides) < 2 or sides[0].shape[1] != sides[1].shape[1]:  # noqa: PLR2004
        raise ValueError("a projection needs rows of the same width on both sides")
    if not all(np.isfinite(side).all() for side in sides):
        raise ValueError("a projection needs finite features: leave the other rows out first")
    centre = (sides[0].mean(axis=0) + sides[1].mean(axis=0)) / 2
    centred = [side - centre for side in sides]
    weighted = np.concatenate([side / np.sqrt(2 * len(side)) for side in centred])
    axes, variances = _principal_axes(weighted, num_axes)
    total = float((weighted**2).sum())
    return Projection(
        sim_xy=centred[0] @ axes.T,
        real_xy=centred[1] @ axes.T,
        explained=variances / total if total > 0 else np.zeros(num_axes),
    )


def _principal_axes(
    weighted: NDArray[np.float64], num_axes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give (axes, features) of unit length and (axes,) variances, from the smaller Gram matrix."""
    num_rows, num_features = weighted.shape
    axes, variances = np.zeros((num_axes, num_features)), np.zeros(num_axes)
    wide = num_features > num_rows
    values, vectors = np.linalg.eigh(weighted @ weighted.T if wide else weighted.T @ weighted)
    floor = 1e-12 * max(float(values[-1]), 0.0)
    for axis, at in enumerate(reversed(range(max(0, len(values) - num_axes), len(values)))):
        if values[at] <= floor:
            break
        loading = weighted.T @ vectors[:, at] / np.sqrt(values[at]) if wide else vectors[:, at]
        axes[axis] = loading * np.sign(loading[np.abs(loading).argmax()])
        variances[axis] = values[at]
    return axes, variances
