"""A resize told by its filter and its frame: rendered again of what the step was given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Array, Explanation, Samples, guess_channel_axis
from assay.explain.rendering import RENDERINGS, Rendering

Pictures: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]]
FEW_ROWS = 4  # that filters are chosen on
MAX_ROWS = 32  # that they are judged on
MOST_STRETCHED = 8.0  # one side against the other: a filled frame takes so many times its size
SLACK = 0.03  # of the difference: libraries round weights and results to whole numbers
COLOURS = (1, 3, 4)
IMAGE_NDIM = 4
Size: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """How a picture of one shape is brought into a frame of another."""

    name: str
    kind: str  # of the difference, where only one side does so
    place: Callable[[Array, Size, Rendering], tuple[Array, NDArray[np.bool_]]]


def rerender(
    reference: NDArray[Any], candidate: NDArray[Any], source: Pictures, accept: float
) -> Explanation | None:
    """Name each side's frame and filter, where both are renderings of the source.

    Args:
        reference: what the reference's step made, pictures of one size.
        candidate: what the candidate's made of the same.
        source: what both were given; pictures of any sizes.
        accept: the share of the difference to be explained.
    """
    left, right = _planes(reference), _planes(candidate)
    if left is None or right is None or left.shape != right.shape or len(source) != len(left):
        return None
    left, right = left[:MAX_ROWS], right[:MAX_ROWS]
    size = (left.shape[2], left.shape[3])
    pictures = _usable(source, left.shape[1], size)
    if pictures is None:
        return None
    difference = float(((left - right) ** 2).sum())
    ways = [_best(pictures[:FEW_ROWS], side[:FEW_ROWS], size) for side in (left, right)]
    pairs = zip(ways, (left, right), strict=True)
    errors = [_error(way, pictures, side, size) for way, side in pairs]
    # Both sides must be known: else the difference may be another than that of the resize.
    if ways[0] == ways[1] or max(errors) > (1 - accept + SLACK) * difference:
        return None
    return _said(ways[0], ways[1], 1 - errors[1] / difference)


def _usable(source: Pictures, channels: int, size: Size) -> list[Array] | None:
    """Give the pictures, where they have these channels, about this shape and another size."""
    given = [_planes(np.asarray(picture)[None]) for picture in source[:MAX_ROWS]]
    found = [
        picture
        for picture in given
        if picture is not None
        and picture.shape[1] == channels
        and _stretched(picture.shape, size) <= MOST_STRETCHED
    ]
    resized = any(picture.shape[2:] != size for picture in found)
    return found if resized and len(found) == len(given) else None


def _stretched(shape: tuple[int, ...], size: Size) -> float:
    """Tell how much more one side is stretched than the other; a signal is no picture."""
    ratio = (shape[2] / size[0]) / (shape[3] / size[1])
    return max(ratio, 1 / ratio)


Way: TypeAlias = tuple[Frame, Rendering]


def _said(had: Way, got: Way, explained: float) -> Explanation:
    if had[0].name == got[0].name:
        kind, name = "resize_filter", f"resized with {got[1].name} instead of {had[1].name}"
    else:
        kind, name = got[0].kind or had[0].kind, f"{got[0].name} instead of {had[0].name}"
        if had[1].name != got[1].name:
            name += f" ({got[1].name} instead of {had[1].name})"
    return Explanation(
        name=name,
        kind=kind,
        parameters={
            "reference": f"{had[0].name}, {had[1].name}",
            "candidate": f"{got[0].name}, {got[1].name}",
        },
        residual_explained=explained,
        parts=(kind,),
    )


def _best(pictures: Sequence[Array], wanted: Array, size: Size) -> Way:
    """Choose the frame by the two most usual filters, then the filter within it."""
    usual = RENDERINGS[:2]
    frame = min(
        FRAMES,
        key=lambda f: min(_error((f, way), pictures, wanted, size) for way in usual),
    )
    return frame, min(
        RENDERINGS, key=lambda way: round(_error((frame, way), pictures, wanted, size), 6)
    )


def _error(way: Way, pictures: Sequence[Array], wanted: Array, size: Size) -> float:
    frame, rendering = way
    total = 0.0
    for picture, goal in zip(pictures, wanted, strict=True):
        made, seen = frame.place(picture, size, rendering)
        gap = made[0] - goal
        # A frame says nothing of the colour of its bands: any one will do.
        gap = np.where(seen, gap, goal - np.median(goal[:, ~seen]) if (~seen).any() else gap)
        total += float((gap**2).sum())
    return total


def _stretch(picture: Array, size: Size, way: Rendering) -> tuple[Array, NDArray[np.bool_]]:
    return way.apply(picture, size), np.ones(size, dtype=np.bool_)


def _cover(rounding: Callable[[float], float]) -> Callable[..., tuple[Array, NDArray[np.bool_]]]:
    def place(picture: Array, size: Size, way: Rendering) -> tuple[Array, NDArray[np.bool_]]:
        height, width = picture.shape[2:]
        ratio = max(size[0] / height, size[1] / width)
        full = (max(size[0], round(height * ratio)), max(size[1], round(width * ratio)))
        made = way.apply(picture, full)
        top, left = (int(rounding((a - b) / 2)) for a, b in zip(full, size, strict=True))
        return made[:, :, top : top + size[0], left : left + size[1]], np.ones(size, dtype=np.bool_)

    return place


def _fit(middle: bool) -> Callable[..., tuple[Array, NDArray[np.bool_]]]:
    def place(picture: Array, size: Size, way: Rendering) -> tuple[Array, NDArray[np.bool_]]:
        height, width = picture.shape[2:]
        ratio = min(size[0] / height, size[1] / width)
        inner = (min(size[0], round(height * ratio)), min(size[1], round(width * ratio)))
        top, left = ((size[i] - inner[i]) // 2 if middle else 0 for i in range(2))
        made, seen = np.zeros((*picture.shape[:2], *size)), np.zeros(size, dtype=np.bool_)
        here = np.s_[top : top + inner[0], left : left + inner[1]]
        made[:, :, here[0], here[1]] = way.apply(picture, (max(1, inner[0]), max(1, inner[1])))
        seen[here] = True
        return made, seen

    return place


FRAMES = (
    Frame("stretched", "", _stretch),
    Frame("short side resized, middle cut out", "zoom", _cover(np.rint)),
    Frame("short side resized, middle cut out (rounded down)", "crop_offset", _cover(np.floor)),
    Frame("letterboxed in the middle", "letterbox", _fit(middle=True)),
    Frame("letterboxed at the top left", "letterbox", _fit(middle=False)),
)


def _planes(values: NDArray[Any]) -> Array | None:
    """Give pictures as (rows, channels, height, width); None for what is no picture."""
    axis = guess_channel_axis(values.shape)
    if values.ndim == IMAGE_NDIM and min(values.shape[1], values.shape[3]) in COLOURS:
        axis = 3 if values.shape[3] in COLOURS else 1
    elif values.ndim != IMAGE_NDIM - 1:
        return None
    else:
        axis = None
    found = Samples(values=values.astype(np.float64), channel_axis=axis).planes
    return found if np.isfinite(found).all() else None
