"""A transform on some of the rows only: files of one camera, samples above a size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Array, Explanation, Samples, guess_channel_axis
from assay.explain.resort import Ask, prefixed
from assay.explain.turns import TURNS

FEWEST = 2  # rows that differ, and that do not
SHARE = 0.02  # of the rows, at least
NEAR = 1e-6
LIKE = 0.8  # of correlation, of a row that was turned
CLEAR = 0.1  # by which the best turn correlates more than none
MAX_TURNS = 3


def some_rows(
    reference: NDArray[Any], candidate: NDArray[Any], max_depth: int, ask: Ask
) -> Explanation | None:
    """Explain the rows that differ, where others do not.

    What explains these and leaves the others as they are, as clipping may, is told of all rows.
    """
    differing = _differing(reference, candidate) if max_depth > 1 else None
    if differing is None or not _both(differing):
        return None
    then = ask(reference[differing], candidate[differing], max_depth - 1)
    if then is None:
        return None
    whole = ask(reference, candidate, len(then.parts))
    return whole or prefixed("some_rows", _of(differing), _share(differing), then)


def _differing(reference: NDArray[Any], candidate: NDArray[Any]) -> NDArray[np.bool_] | None:
    if reference.shape != candidate.shape:
        return None
    left = reference.reshape(len(reference), -1).astype(np.float64)
    right = candidate.reshape(len(candidate), -1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = np.abs(left - right) <= NEAR * (1 + np.abs(left))
    return np.asarray(~(same | (np.isnan(left) & np.isnan(right))).all(axis=1))


def turned_rows(
    reference: NDArray[Any], candidate: NDArray[Any], max_depth: int, ask: Ask
) -> Explanation | None:
    """Turn each row as it correlates best, and explain the rest."""
    if reference.ndim != candidate.ndim or max_depth < 2:  # noqa: PLR2004
        return None
    if not (np.isfinite(reference).all() and np.isfinite(candidate).all()):
        return None
    axis = guess_channel_axis(reference.shape)
    start = Samples(values=reference.astype(np.float64), channel_axis=axis)
    wanted = Samples(values=candidate.astype(np.float64), channel_axis=axis).planes
    found = _turned(start.planes, wanted) if min(start.planes.shape[2:]) > 1 else None
    if found is None:
        return None
    turned, best = found
    values = start.with_planes(turned).values
    then = ask(values, candidate, max_depth - 1) if not np.array_equal(values, candidate) else None
    if then is None and not np.allclose(values, candidate, rtol=NEAR, atol=NEAR):
        return None
    used = [TURNS[way - 1] for way in np.unique(best) if way]
    shares = [100 * float((best == way).mean()) for way in np.unique(best) if way]
    texts = [
        f"{turn[1]} on {share:.0f} % of the rows" for turn, share in zip(used, shares, strict=True)
    ]
    kinds = "+".join(kind for kind, *_ in used)
    return prefixed(f"some_rows+{kinds}", ", ".join(texts) + " only", _share(best > 0), then)


def _turned(planes: Array, wanted: Array) -> tuple[Array, NDArray[np.intp]] | None:
    """Turn each row as it fits best: (planes, which turn of each row, from 1; 0 for none)."""
    same_shape = planes.shape == wanted.shape
    none = np.full(len(planes), -1.0)
    ways = [planes, *(turn(planes) for *_, turn in TURNS)]
    fits = np.array([_row_fit(way, wanted) if way.shape == wanted.shape else none for way in ways])
    best = fits.argmax(axis=0)
    clear = (fits.max(axis=0) >= LIKE) & (fits.max(axis=0) >= fits[0] + CLEAR)
    best = np.where(clear, best, 0)
    used = [int(way) for way in np.unique(best) if way]
    # Where a turn changes the shape all rows were turned, and not all the same way.
    several = _both(best > 0) if same_shape else len(used) > 1 and bool(best.all())
    if not several or not 0 < len(used) <= MAX_TURNS:
        return None
    turned = np.empty(wanted.shape)
    for way in np.unique(best):
        turned[best == way] = ways[int(way)][best == way]
    return turned, best


def _row_fit(left: Array, right: Array) -> Array:
    """Give the correlation of each row's planes at equal places, whatever its sign."""
    sides = [side - side.mean(axis=(2, 3), keepdims=True) for side in (left, right)]
    energy = np.prod([(side**2).sum(axis=(1, 2, 3)) for side in sides], axis=0)
    product = np.abs((sides[0] * sides[1]).sum(axis=(1, 2, 3)))
    return np.asarray(
        np.divide(product, np.sqrt(energy), out=np.zeros_like(product), where=energy > 0)
    )


def _both(rows: NDArray[np.bool_]) -> bool:
    least = max(FEWEST, SHARE * len(rows))
    return bool(least <= rows.sum() <= len(rows) - least)


def _of(rows: NDArray[np.bool_]) -> str:
    return f"on {100 * float(rows.mean()):.0f} % of the rows"


def _share(rows: NDArray[np.bool_]) -> dict[str, Any]:
    return {"share": float(rows.mean())}
