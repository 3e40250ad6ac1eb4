"""What a row of numbers looks like, for contracts and for input statistics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def row_statistics(block_rows: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """Summarise each row of a block; the caller streams blocks and joins what comes back.

    Memory: three float64 copies of the block. Shares are of all values of the row. Moments and
    extremes are over the finite values, in the units of the input; NaN where a row has none, so
    read them with `finite_share`. `std` divides by the count (no Bessel correction).

    Args:
        block_rows: (rows, ...) of integers, floats or booleans; at least one value a row.

    Returns:
        (rows,) float64 arrays: mean, std, min, max, finite_share, zero_share.

    >>> found = row_statistics(np.array([[0.0, 4.0, np.nan, 2.0]]))
    >>> float(found["mean"][0]), float(found["finite_share"][0]), float(found["zero_share"][0])
    (2.0, 0.75, 0.25)
    """
    if block_rows.ndim == 0 or block_rows.dtype.kind not in "biuf":
        raise ValueError(
            f"statistics need rows of numbers, got {block_rows.dtype} {block_rows.shape}"
        )
    values = block_rows.reshape(len(block_rows), -1 if block_rows.size else 1).astype(np.float64)
    finite = np.isfinite(values)
    count = finite.sum(axis=1)
    some = count > 0
    safe_count = np.where(some, count, 1)
    # Zeros stand in for the rest, so that sums need no masked (slow, warning) variants.
    kept = np.where(finite, values, 0.0)
    mean = kept.sum(axis=1) / safe_count
    deviation = np.where(finite, kept - mean[:, None], 0.0)
    return {
        "mean": np.where(some, mean, np.nan),
        "std": np.where(some, np.sqrt((deviation**2).sum(axis=1) / safe_count), np.nan),
        "min": np.where(some, np.where(finite, values, np.inf).min(axis=1), np.nan),
        "max": np.where(some, np.where(finite, values, -np.inf).max(axis=1), np.nan),
        "finite_share": count / values.shape[1],
        "zero_share": (values == 0).sum(axis=1) / values.shape[1],
    }
