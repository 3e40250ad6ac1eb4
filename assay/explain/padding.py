"""Other values in the border around the same picture: another fill, or another mode."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import numpy as np

from assay.explain.geometry import free_box
from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

Box: TypeAlias = tuple[int, int, int, int]  # top, bottom, left, right
Mode: TypeAlias = Literal["edge", "reflect", "symmetric", "wrap"]
MODES: tuple[Mode, ...] = ("edge", "reflect", "symmetric", "wrap")
MIN_SIDE = 5
NEAR = 1e-6


def padding(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose each way to fill the border around what both sides show alike."""
    if not aligned(reference, candidate) or min(reference.planes.shape[2:]) < MIN_SIDE:
        return
    left, right = reference.planes, candidate.planes
    found = (free_box(left), free_box(right), _equal_box(left, right))
    for box in sorted({box for box in found if box is not None}):
        top, bottom, near, far = box
        outside = np.ones(right.shape[2:], dtype=np.bool_)
        outside[top:bottom, near:far] = False
        fill = float(np.median(right[:, :, outside]))
        where = f"the border outside of {bottom - top}x{far - near} pixels"
        text = f"{where} filled with {fill:.6g}"
        yield of_planes("pad", text, _filled(box, fill), cost=1.1, fill=fill)
        for mode in MODES:
            if _fits(box, right.shape, mode):
                text = f"{where} filled by its inside ({mode})"
                yield of_planes("pad", text, _moded(box, mode), cost=1.15, mode=mode)


def _equal_box(left: Array, right: Array) -> Box | None:
    """Find the rectangle outside of which alone the two differ; None where it is no rectangle."""
    scale = 1 + float(np.abs(left).max())
    equal = np.asarray((np.abs(left - right) <= NEAR * scale).all(axis=(0, 1)))
    down, across = np.flatnonzero(equal.any(axis=1)), np.flatnonzero(equal.any(axis=0))
    if not len(down) or not len(across):
        return None
    box = int(down[0]), int(down[-1]) + 1, int(across[0]), int(across[-1]) + 1
    inside = equal[box[0] : box[1], box[2] : box[3]]
    return box if inside.all() and inside.size < equal.size else None


def _fits(box: Box, shape: tuple[int, ...], mode: Mode) -> bool:
    top, bottom, near, far = box
    widest = max(top, shape[2] - bottom, near, shape[3] - far)
    return mode == "edge" or widest < min(bottom - top, far - near)


def _filled(box: Box, fill: float) -> Callable[[Array], Array]:
    top, bottom, near, far = box

    def apply(planes: Array) -> Array:
        made = np.full_like(planes, fill)
        made[:, :, top:bottom, near:far] = planes[:, :, top:bottom, near:far]
        return made

    return apply


def _moded(box: Box, mode: Mode) -> Callable[[Array], Array]:
    top, bottom, near, far = box

    def apply(planes: Array) -> Array:
        height, width = planes.shape[2:]
        widths = ((0, 0), (0, 0), (top, height - bottom), (near, width - far))
        return np.pad(planes[:, :, top:bottom, near:far], widths, mode=mode)

    return apply
