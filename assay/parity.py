"""Do two sides compute the same numbers for the same rows? No p-value: it is deterministic."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUM_WORST = 6
BLOCK_VALUES = 1 << 20  # values compared at once: some 50 MiB of float64 in flight


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far the candidate is from the reference, in the units of the values.

    Shapes differ: `equal` is False and every figure None. A NaN or an infinity against anything
    else is an infinite gap: `max_abs` is then None, `num_nan_mismatch` and `num_inf_mismatch` count
    them, and `mean_abs` speaks of the pairs of finite numbers (None without any). `share_differing`
    is of values. `worst_rows` are the rows beyond the tolerance, the widest gap first, ties in
    order.
    """

    equal: bool
    max_abs: float | None
    mean_abs: float | None
    share_differing: float | None
    num_rows: int
    num_nan_mismatch: int
    num_inf_mismatch: int
    worst_rows: tuple[int, ...]
    shape_reference: tuple[int, ...]
    shape_candidate: tuple[int, ...]
    dtype_reference: str
    dtype_candidate: str


def compare(
    reference: NDArray[Any], candidate: NDArray[Any], *, atol: float, rtol: float = 0.0
) -> Difference:
    """Compare row by row: values agree where |candidate - reference| <= atol + rtol |reference|.

    NaN agrees with NaN, an infinity with the same infinity. All arithmetic is in float64, so that
    integers do not wrap (beyond 2**53 they are rounded first). A difference of type alone is no
    difference of values; both types are named.

    Args:
        reference: (rows, ...) numbers; a memory map will do, as blocks of rows are read.
        candidate: the same rows from the other side.
        atol: in the units of the values.
        rtol: as a share of the reference.

    Raises:
        ValueError: there are no rows: nothing was compared, and that is not agreement.

    >>> found = compare(np.array([250], np.uint8), np.array([5], np.uint8), atol=0)
    >>> found.equal, found.max_abs
    (False, 245.0)
    """
    if reference.ndim == 0 or candidate.ndim == 0 or not len(reference):
        raise ValueError(f"parity needs rows: shapes {reference.shape} and {candidate.shape}")
    if reference.shape != candidate.shape:
        return _difference(reference, candidate, _Tally(0, 0, 0, 0.0, None, ()))
    tally = _Tally(0, 0, 0, 0.0, None, ())
    step = max(1, BLOCK_VALUES * len(reference) // max(1, reference.size))
    for start in range(0, len(reference), step):
        rows = slice(start, start + step)
        block = _tally(start, reference[rows], candidate[rows], atol, rtol)
        tally = tally.plus(block)
    return _difference(reference, candidate, tally)


@dataclass(frozen=True, slots=True)
class _Tally:
    num_differing: int
    num_nan: int
    num_inf: int
    sum_finite: float
    max_finite: float | None
    worst: tuple[tuple[float, int], ...]  # (-gap, row)
    num_finite: int = 0

    def plus(self, other: "_Tally") -> "_Tally":
        widest = [gap for gap in (self.max_finite, other.max_finite) if gap is not None]
        return _Tally(
            self.num_differing + other.num_differing,
            self.num_nan + other.num_nan,
            self.num_inf + other.num_inf,
            self.sum_finite + other.sum_finite,
            max(widest, default=None),
            tuple(sorted(self.worst + other.worst)[:NUM_WORST]),
            self.num_finite + other.num_finite,
        )


def _tally(
    start: int, reference: NDArray[Any], candidate: NDArray[Any], atol: float, rtol: float
) -> _Tally:
    left = np.asarray(reference, dtype=np.float64).reshape(len(reference), -1)
    right = np.asarray(candidate, dtype=np.float64).reshape(len(candidate), -1)
    finite = np.isfinite(left) & np.isfinite(right)
    gap = np.zeros(left.shape)
    with np.errstate(over="ignore"):  # 1e308 against -1e308 is an infinite gap, and counted as such
        np.subtract(right, left, out=gap, where=finite)
    np.abs(gap, out=gap)
    nan_left, nan_right = np.isnan(left), np.isnan(right)
    nan_mismatch = nan_left != nan_right
    inf_mismatch = (~finite & ~nan_left & ~nan_right & (left != right)) | np.isinf(gap)
    finite &= ~np.isinf(gap)
    differing = nan_mismatch | inf_mismatch
    differing |= finite & (gap > atol + rtol * np.abs(np.where(finite, left, 0.0)))
    gaps_rows = np.where(nan_mismatch | inf_mismatch, np.inf, gap).max(axis=1, initial=0.0)
    rows = np.flatnonzero(differing.any(axis=1))
    worst = rows[np.argsort(-gaps_rows[rows], kind="stable")[:NUM_WORST]]
    return _Tally(
        int(differing.sum()),
        int(nan_mismatch.sum()),
        int(inf_mismatch.sum()),
        float(gap[finite].sum()),
        float(gap[finite].max()) if finite.any() else None,
        tuple((-float(gaps_rows[row]), start + int(row)) for row in worst),
        int(finite.sum()),
    )


def _difference(reference: NDArray[Any], candidate: NDArray[Any], tally: _Tally) -> Difference:
    comparable = reference.shape == candidate.shape
    infinite = tally.num_nan + tally.num_inf > 0
    return Difference(
        equal=comparable and tally.num_differing == 0,
        max_abs=None if infinite else tally.max_finite,
        mean_abs=tally.sum_finite / tally.num_finite if tally.num_finite else None,
        share_differing=tally.num_differing / max(1, reference.size) if comparable else None,
        num_rows=len(reference),
        num_nan_mismatch=tally.num_nan,
        num_inf_mismatch=tally.num_inf,
        worst_rows=tuple(row for _, row in tally.worst),
        shape_reference=reference.shape,
        shape_candidate=candidate.shape,
        dtype_reference=str(reference.dtype),
        dtype_candidate=str(candidate.dtype),
    )
