"""How far apart are two sets, column by column? The Kolmogorov-Smirnov distance of many at once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

TERMS = 100  # of Kolmogorov's series; the last is under 1e-300 wherever the sum is below 1
SMALL = 0.18  # below it the law's tail is 1 to the last bit
SIGN32, SIGN64 = np.uint32(1 << 31), np.uint64(1 << 63)


def ks_distances(left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    """Return (columns,) largest gaps between the two empirical distribution functions.

    Each column is sorted once: a value and the side that it is of are packed into one whole
    number that orders as the value does, so that the sort moves 8 bytes a row and needs no second
    array. Time n log n a column, memory some 20 bytes a row of one column.

    Exact for float32 and narrower types. Of float64 the last of 52 bits makes room for the side:
    two values that differ in it alone count as equal, which moves the distance by their share of
    the rows.

    Args:
        left: (rows, columns) or (rows,), finite.
        right: the same columns.

    Raises:
        ValueError: columns differ, a side is empty, or a value is not finite.
    """
    sides = [np.asarray(side) for side in (left, right)]
    sides = [side[:, None] if side.ndim == 1 else side for side in sides]
    if any(side.ndim != 2 or not len(side) for side in sides):  # noqa: PLR2004
        raise ValueError(f"a distance needs (rows, columns): {[side.shape for side in sides]}")
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(f"columns differ: {sides[0].shape[1]} and {sides[1].shape[1]}")
    narrow = all(np.can_cast(side.dtype, np.float32) for side in sides)
    found = np.empty(sides[0].shape[1])
    for column in range(len(found)):
        one, other = (_column(side, column, narrow=narrow) for side in sides)
        if not (np.isfinite(one).all() and np.isfinite(other).all()):
            raise ValueError(f"column {column} is not finite: leave those rows out first")
        found[column] = _distance(one, other)
    return found


def ks_p_values(distances: ArrayLike, num_left: int, num_right: int) -> NDArray[np.float64]:
    """Return p-values of independent rows by Kolmogorov's limit law, corrected for few rows.

    The correction is Stephens' (1970). Rows that rise and fall together make them far too small:
    deal whole groups instead (`assay.contrast`).
    """
    num = num_left * num_right / (num_left + num_right)
    scaled = np.asarray(distances, dtype=np.float64)
    scaled = (np.sqrt(num) + 0.12 + 0.11 / np.sqrt(num)) * scaled
    term = np.arange(1, TERMS + 1)
    signs = np.where(term % 2, 2.0, -2.0)
    series = (signs * np.exp(-2 * (np.multiply.outer(scaled, term)) ** 2)).sum(axis=-1)
    return np.asarray(np.where(scaled < SMALL, 1.0, np.clip(series, 0, 1)))


def _column(side: NDArray[Any], column: int, *, narrow: bool) -> NDArray[np.floating]:
    return side[:, column].astype(np.float32) if narrow else side[:, column].astype(np.float64)


def _distance(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    packed = np.concatenate([_keys(left), _keys(right) | np.uint64(1)])
    packed.sort()
    num_right = np.cumsum((packed & np.uint64(1)).view(np.int64))
    num_both = np.arange(1, len(packed) + 1)
    value = packed >> np.uint64(1)
    last = np.append(value[1:] != value[:-1], True)  # of each run of equal values
    # Counts, times the other side's rows, are whole: the distance is exact until the division.
    gaps = np.abs(num_both[last] * len(right) - num_right[last] * len(packed))
    return float(gaps.max() / (len(left) * len(right)))


def _keys(values: NDArray[np.floating]) -> NDArray[np.uint64]:
    """Give whole numbers that order as the values do, their lowest bit free."""
    values = values + values.dtype.type(0)  # -0.0 and 0.0 are one value
    if values.dtype == np.float32:
        bits = values.view(np.uint32)
        ordered = np.where(bits & SIGN32, ~bits, bits | SIGN32)
        return ordered.astype(np.uint64) << np.uint64(1)
    wide = values.view(np.uint64)
    return np.where(wide & SIGN64, ~wide, wide | SIGN64) & ~np.uint64(1)
