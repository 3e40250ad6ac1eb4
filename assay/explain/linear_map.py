"""Any linear map along one axis: filter banks, rotations of a sensor, projections."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Explanation
from assay.explain.resort import Ask

MAX_LINES = 128
MIN_SEEN = 6  # values a coefficient
FIT_ROWS = 2 / 3  # of the rows fit the map, the others judge it


def linear_map(
    reference: NDArray[Any],
    candidate: NDArray[Any],
    max_depth: int,  # noqa: ARG001  one map is one transform
    ask: Ask,  # noqa: ARG001  and nothing is left
    accept: float = 0.99,
) -> Explanation | None:
    """Fit one matrix and offsets along each axis in turn, on some rows, and judge it on others.

    The last resort: it has many parameters and no simpler name was found.
    """
    if reference.ndim != candidate.ndim or reference.ndim < 2:  # noqa: PLR2004
        return None
    if not (np.isfinite(reference).all() and np.isfinite(candidate).all()):
        return None
    cut = int(len(reference) * FIT_ROWS)
    for axis in range(1, reference.ndim):
        x, y = (np.moveaxis(side.astype(np.float64), axis, -1) for side in (reference, candidate))
        if x.shape[:-1] != y.shape[:-1] or max(x.shape[-1], y.shape[-1]) > MAX_LINES:
            continue
        if x[:cut].size < MIN_SEEN * (x.shape[-1] + 1) * x.shape[-1] or len(x) - cut < 2:  # noqa: PLR2004
            continue
        fit, held = (_design(x[:cut]), _flat(y[:cut])), (_design(x[cut:]), _flat(y[cut:]))
        gram = fit[0].T @ fit[0]
        gram += 1e-12 * np.trace(gram) / len(gram) * np.eye(len(gram))
        matrix = np.linalg.solve(gram, fit[0].T @ fit[1])
        error = float(((held[1] - held[0] @ matrix) ** 2).sum())
        bounds = [float(((held[1] - held[1].mean(axis=0)) ** 2).sum())]
        if reference.shape == candidate.shape:
            bounds.append(float(((held[1] - held[0][:, :-1]) ** 2).sum()))
        if min(bounds) > 0 and 1 - error / min(bounds) >= accept:
            size = f"{y.shape[-1]}x{x.shape[-1]}"
            least = 1e-6 * float(np.abs(matrix).max()) * len(matrix)
            rank = int(np.linalg.matrix_rank(matrix[:-1], tol=least))
            return Explanation(
                name=f"a linear map ({size}, rank {rank}) along axis {axis}, of no simpler name",
                kind="linear_map",
                parameters={"axis": axis, "rank": rank},
                residual_explained=1 - error / bounds[-1],
                parts=("linear_map",),
            )
    return None


def _flat(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.reshape(-1, values.shape[-1])


def _design(values: NDArray[np.float64]) -> NDArray[np.float64]:
    flat = _flat(values)
    return np.column_stack([flat, np.ones(len(flat))])
