"""Is a line what was done? In a table it leaves nothing but rounding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import TABLE_NDIM, Explanation

LINES = {"scale", "offset", "affine", "invert", "unit_ratio", "normalisation", "channel_affine",
         "colour_matrix", "linear_map", "band_gain"}  # fmt: skip
LEFT = 1e-4  # of the difference: single precision, and constants that were snapped


def is_exact(found: Explanation | None, reference: NDArray[Any], candidate: NDArray[Any]) -> bool:
    """Say whether lines that were found for a table leave no more than a rounding of it does.

    No filter and no border is in the way there: a line that leaves half a per cent follows
    something else, such as a product with another column that hardly varies.
    """
    if found is None or candidate.shape != reference.shape or candidate.ndim != TABLE_NDIM:
        return True
    left = 1 - found.residual_explained
    if left <= LEFT or not set(found.parts) <= LINES:
        return True
    had, got = reference.astype(np.float64), candidate.astype(np.float64)
    kept = np.isfinite(had).all(axis=1) & np.isfinite(got).all(axis=1)
    had, got = had[kept], got[kept]
    changed = np.flatnonzero((had != got).any(axis=0))
    rounded = sum(_least_gap(got[:, c]) ** 2 + _least_gap(had[:, c]) ** 2 for c in changed)
    return bool(left * float(((had - got) ** 2).sum()) <= len(got) * rounded)


def _least_gap(column: NDArray[np.float64]) -> float:
    levels = np.unique(column)
    return float(np.diff(levels).min()) if len(levels) > 1 else 0.0
