"""Another piece of the picture in the same frame: letterboxed, or its middle stretched."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.rendering import RENDERINGS
from assay.explain.resampled import at_places
from assay.explain.score import aligned, correlation

MIN_SIDE = 8
FEW_ROWS = 3
LIKE = 0.9  # of squared correlation: to be refined
FIT = 0.97  # of squared correlation: to be proposed
LEAST_SEEN = 0.4  # of a side
STEPS = 14


def letterbox(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the reference shrunk into what constant bands of the candidate leave free."""
    if not aligned(reference, candidate) or min(reference.planes.shape[2:]) < MIN_SIDE:
        return
    right = candidate.planes
    box = free_box(right)
    if box is None or free_box(reference.planes) is not None:
        return
    top, bottom, left, far = box
    inner = right[:FEW_ROWS, :, top:bottom, left:far]
    few, size = reference.planes[:FEW_ROWS], (bottom - top, far - left)
    fits = [(correlation(way.apply(few, size), inner), way) for way in RENDERINGS]
    fit, way = max(fits, key=lambda found: round(found[0], 9))  # of equals the most usual
    if fit < LIKE:
        return
    outside = np.ones(right.shape[2:], dtype=np.bool_)
    outside[top:bottom, left:far] = False
    fills = np.median(right[:, :, outside], axis=(0, 2))

    def apply(planes: Array) -> Array:
        made = np.broadcast_to(fills[:, None, None], right.shape[1:]).copy()
        made = np.broadcast_to(made, (len(planes), *made.shape)).copy()
        made[:, :, top:bottom, left:far] = way.apply(planes, size)
        return made

    where = "above and below" if far - left == right.shape[3] else "left and right"
    where = where if far - left == right.shape[3] or bottom - top == right.shape[2] else "all round"
    yield of_planes(
        "letterbox",
        f"letterboxed: shrunk to {size[0]}x{size[1]} ({way.name}), bands {where} "
        f"filled with {fills[0]:.4g}",
        apply, cost=1.2, top=top, left=left, height=size[0], width=size[1],
        fill=[float(v) for v in fills],
    )  # fmt: skip


def free_box(planes: Array) -> tuple[int, int, int, int] | None:
    """Find (top, bottom, left, right) of what is no constant band, or None without bands."""
    varies = np.ptp(planes, axis=0).max(axis=0) > 1e-9  # noqa: PLR2004
    down, across = np.flatnonzero(varies.any(axis=1)), np.flatnonzero(varies.any(axis=0))
    if not len(down) or not len(across):
        return None
    box = int(down[0]), int(down[-1]) + 1, int(across[0]), int(across[-1]) + 1
    small = box[1] - box[0] < 3 or box[3] - box[2] < 3  # noqa: PLR2004
    return None if small or box == (0, planes.shape[2], 0, planes.shape[3]) else box


def zoom(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the middle of the picture, of one axis or both, stretched to the whole frame."""
    if not aligned(reference, candidate) or min(reference.planes.shape[2:]) < MIN_SIDE:
        return
    few, wanted = reference.planes[:FEW_ROWS, :1], candidate.planes[:FEW_ROWS, :1]
    plain = correlation(few, wanted)
    for axes, what in (((2,), "height"), ((3,), "width"), ((2, 3), "height and width")):
        grid = np.linspace(LEAST_SEEN, 1, 13)[:-1]
        fits = [correlation(_middle(few, axes, share), wanted) for share in grid]
        best = int(np.argmax(fits))
        if fits[best] < max(LIKE - 0.4, plain):
            continue
        low, high = float(grid[max(0, best - 1)]), float([*grid, 1.0][best + 1])
        for _ in range(STEPS):
            third = (high - low) / 3
            ahead = correlation(_middle(few, axes, low + third), wanted)
            if ahead < correlation(_middle(few, axes, high - third), wanted):
                low += third
            else:
                high -= third
        share = (low + high) / 2
        if correlation(_middle(few, axes, share), wanted) >= FIT:
            name = f"the middle {100 * share:.3g} % of the {what}, stretched over the whole"
            yield of_planes("zoom", name, _stretched(axes, share), cost=1.3, share=share)


def _stretched(axes: tuple[int, ...], share: float) -> Callable[[Array], Array]:
    return lambda planes: _middle(planes, axes, share)


def _middle(planes: Array, axes: tuple[int, ...], share: float) -> Array:
    for axis in axes:
        size = planes.shape[axis]
        places = (np.arange(size) + 0.5 - size / 2) * share + size / 2 - 0.5
        planes = np.moveaxis(at_places(np.moveaxis(planes, axis, -1), places), -1, axis)
    return planes
