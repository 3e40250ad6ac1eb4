"""Another piece cut out of the same picture: what both pieces show is equal, the rest is unseen."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Array, Explanation, Samples, guess_channel_axis
from assay.explain.resort import Ask, prefixed
from assay.explain.score import correlation
from assay.explain.translation import peak_of

LEAST_SEEN = 0.5  # of each side
LIKE = 0.5  # of squared correlation, where both show the same
MAX_ROWS = 16  # that the offset is sought on
MIN_SIDE = 6


def crop_offset(
    reference: NDArray[Any], candidate: NDArray[Any], max_depth: int, ask: Ask
) -> Explanation | None:
    """Cut both sides down to what both show, at the peak of their correlation, and explain that.

    The share explained is of the part that both show.
    """
    if reference.shape != candidate.shape or max_depth < 2:  # noqa: PLR2004
        return None
    axis = guess_channel_axis(reference.shape)
    sides = [Samples(values=side, channel_axis=axis) for side in (reference, candidate)]
    moved = _offset(*(side.planes for side in sides))
    if moved is None:
        return None
    (down, across), cuts = moved
    pairs = zip(sides, cuts, strict=True)
    cut = [side.with_planes(side.planes[at]).values for side, at in pairs]
    then = ask(cut[0], cut[1], max_depth - 1)
    if then is None:
        return None
    places = (_by(-down, "higher", "lower"), _by(-across, "further left", "further right"))
    name = "cut out " + " and ".join(place for place in places if place)
    return prefixed("crop_offset", name, {"down": -down, "right": -across}, then)


Cut: TypeAlias = tuple[slice, ...]


def _offset(left: Array, right: Array) -> tuple[tuple[int, int], tuple[Cut, Cut]] | None:
    """Find how far the candidate's content moved, and what of each side both show."""
    if max(left.shape[2:]) < MIN_SIDE:
        return None
    few = [side[:MAX_ROWS].astype(np.float64) for side in (left, right)]
    if not all(np.isfinite(side).all() for side in few):
        return None
    moved = peak_of(*few)
    sizes = left.shape[2:]
    seen = [1 - abs(by) / size for by, size in zip(moved, sizes, strict=True)]
    if moved == (0, 0) or min(seen) < LEAST_SEEN:
        return None
    every = (slice(None), slice(None))
    pairs = list(zip(moved, sizes, strict=True))
    here = (*every, *(slice(max(0, -by), size - max(0, by)) for by, size in pairs))
    there = (*every, *(slice(max(0, by), size + min(0, by)) for by, size in pairs))
    alike = correlation(few[0][here], few[1][there])
    return (moved, (here, there)) if alike >= LIKE else None


def _by(steps: int, less: str, more: str) -> str:
    return f"{abs(steps)} px {less if steps < 0 else more}" if steps else ""
