"""The seven turns and flips of a picture."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import IMAGE_NDIM, Array, Proposal, Samples, of_planes

TURNS: tuple[tuple[str, str, Callable[[Array], Array]], ...] = (
    ("flip_horizontal", "flipped left to right", lambda p: p[..., ::-1]),
    ("flip_vertical", "flipped upside down", lambda p: p[..., ::-1, :]),
    ("rotate_180", "rotated by 180 degrees", lambda p: p[..., ::-1, ::-1]),
    ("transpose", "transposed (rows and columns swapped)", lambda p: np.swapaxes(p, 2, 3)),
    (
        "rotate_90",
        "rotated by 90 degrees counter-clockwise",
        lambda p: np.rot90(p, 1, axes=(2, 3)),
    ),
    ("rotate_270", "rotated by 90 degrees clockwise", lambda p: np.rot90(p, 3, axes=(2, 3))),
    (
        "anti_transpose",
        "transposed along the other diagonal",
        lambda p: np.swapaxes(p[..., ::-1, ::-1], 2, 3),
    ),
)


def turns(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose those turns that could have given the candidate's shape, or be cropped to it."""
    height, width = reference.planes.shape[2:]
    if candidate.values.ndim != reference.values.ndim or max(height, width) == 1:
        return
    for kind, name, turn in TURNS:
        keeps_axes = kind in {"flip_horizontal", "flip_vertical", "rotate_180"}
        # A series has no diagonal, and a flip along an axis of one is none.
        along = "flip_vertical" if width == 1 else "flip_horizontal"
        if min(height, width) == 1 and kind != along:
            continue
        series = width == 1 and height > 1 and reference.values.ndim != IMAGE_NDIM
        kind_of, said = ("time_reversed", "reversed in time") if series else (kind, name)
        yield of_planes(kind_of, said, turn, cost=1.0 if keeps_axes or height == width else 1.01)
