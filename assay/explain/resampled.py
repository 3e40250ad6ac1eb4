"""A series or picture sampled at another rate: of another size, thinned, or read faster."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation

MIN_LENGTH = 8
LIKE = 0.95  # of squared correlation, to be proposed
FACTORS = (2, 3, 4, 5, 8)
# Rates that are taken for one another: of audio, of mains, of sensors, of video.
RATES = sorted({
    rate
    for up, down in (
        (44.1, 48), (22.05, 16), (16, 8), (44.1, 16), (48, 16), (11.025, 8), (24, 25), (24, 30),
        (25, 30), (25, 20), (100, 128), (3, 2), (4, 3), (10, 9),
    )
    for rate in (up / down, down / up)
})  # fmt: skip
Way: TypeAlias = Callable[[Array, int], Array]


def resampled(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose another number of moments, every k-th moment filled up again, and other rates.

    Pictures are thinned along both axes; other rates are for series.
    """
    left, right = reference.planes, candidate.planes
    if left.shape[:2] != right.shape[:2] or max(left.shape[2:]) < MIN_LENGTH:
        return
    axes = [axis for axis in (2, 3) if left.shape[axis] > 1]
    if not aligned(reference, candidate):
        if reference.values.ndim == candidate.values.ndim:
            yield from _resized(left, right)
        return
    for factor in FACTORS:
        if min(left.shape[axis] for axis in axes) < 2 * factor:
            continue
        for text, way in WAYS:
            apply = _along(axes, way, factor)
            if correlation(apply(left), right) >= LIKE:
                name = text.format(factor)
                yield of_planes("resampled", name, apply, cost=1.15, factor=factor)
    if len(axes) == 1:
        yield from _rates(left, right, axes[0])


def _along(axes: list[int], way: Way, factor: int) -> Callable[[Array], Array]:
    def apply(planes: Array) -> Array:
        for axis in axes:
            planes = np.moveaxis(way(np.moveaxis(planes, axis, -1), factor), -1, axis)
        return planes

    return apply


def _held(values: Array, factor: int) -> Array:
    at = np.arange(values.shape[-1]) // factor * factor
    return np.asarray(values[..., at])


def _linear(values: Array, factor: int) -> Array:
    size = values.shape[-1]
    return at_places(values[..., ::factor], np.arange(size) / factor)


def _means(values: Array, factor: int) -> Array:
    size = values.shape[-1]
    starts = np.arange(0, size, factor)
    counts = np.diff([*starts, size])
    return np.asarray(np.add.reduceat(values, starts, axis=-1) / counts)


def _mean_held(values: Array, factor: int) -> Array:
    return np.asarray(_means(values, factor)[..., np.arange(values.shape[-1]) // factor])


def _mean_linear(values: Array, factor: int) -> Array:
    places = (np.arange(values.shape[-1]) + 0.5) / factor - 0.5
    return at_places(_means(values, factor), places)


WAYS: tuple[tuple[str, Way], ...] = (
    ("every {}. value kept and held", _held),
    ("every {}. value kept, the others interpolated", _linear),
    ("means of {} values, each repeated", _mean_held),
    ("means of {} values, interpolated", _mean_linear),
)


def at_places(values: Array, places: Array) -> Array:
    """Interpolate along the last axis at these places (in steps); the ends are held."""
    last = values.shape[-1] - 1
    places = np.clip(places, 0, last)
    low = np.floor(places).astype(np.intp)
    high = np.minimum(low + 1, last)
    part = places - low
    made: Array = values[..., low] * (1 - part) + values[..., high] * part
    return made


def _resized(left: Array, right: Array) -> Iterator[Proposal]:
    """Propose the ways in which all moments or pixels were brought to another number."""
    size = right.shape[2:]
    if size == left.shape[2:] or min(size) == 0:
        return
    for text, places in PLACES:
        apply = partial(_to_size, size=size, places=places)
        if correlation(apply(left), right) >= LIKE:
            shape = "x".join(str(side) for side in size if side > 1) or "1"
            yield of_planes(
                "resampled", f"brought to {shape} values ({text})", apply, cost=1.15, way=text
            )


def _to_size(planes: Array, size: tuple[int, int], places: Callable[[int, int], Array]) -> Array:
    for axis, wanted in ((2, size[0]), (3, size[1])):
        if planes.shape[axis] != wanted:
            moved = np.moveaxis(planes, axis, -1)
            planes = np.moveaxis(at_places(moved, places(moved.shape[-1], wanted)), -1, axis)
    return planes


def _centres(had: int, wanted: int) -> Array:
    return (np.arange(wanted) + 0.5) * had / wanted - 0.5


def _ends(had: int, wanted: int) -> Array:
    return np.asarray(np.linspace(0, had - 1, wanted), dtype=np.float64)


def _starts(had: int, wanted: int) -> Array:
    return np.arange(wanted) * had / wanted


PLACES: tuple[tuple[str, Callable[[int, int], Array]], ...] = (
    ("interpolated between middles", _centres),
    ("interpolated, the ends kept", _ends),
    ("interpolated from the start", _starts),
    ("the nearest", lambda had, wanted: np.floor(_centres(had, wanted) + 0.5)),
    ("the one before", lambda had, wanted: np.floor(_starts(had, wanted) + 1e-9)),
)


def _rates(left: Array, right: Array, axis: int) -> Iterator[Proposal]:
    """Propose the rate at which the reference, read faster or slower, is the candidate."""
    size = left.shape[axis]
    few, wanted = (np.moveaxis(side[:4], axis, -1) for side in (left, right))
    start = max(MIN_LENGTH, size // 4)  # there the two are together longest

    def fit(rate: float, length: int) -> float:
        made = at_places(few, np.arange(length, dtype=np.float64) * rate)
        return _like(made, wanted[..., :length])

    # Read at a wrong rate, the beginning fits nearly at any: a quarter of it finds the candidates.
    likely = sorted(RATES, key=lambda rate: -fit(rate, start))[:3]
    best = max(likely, key=lambda rate: fit(rate, _seen(size, rate)))
    if fit(best, _seen(size, best)) < LIKE:
        return
    for text, fill in (("the end held", None), ("zeros at the end", 0.0)):
        apply = partial(_played, rate=best, axis=axis, fill=fill)
        name = f"read at {best:.4g} times its rate ({text})"
        yield of_planes("resampled", name, apply, cost=1.2, rate=best)


def _seen(size: int, rate: float) -> int:
    return min(size, int((size - 1) / rate) + 1)


def _played(planes: Array, rate: float, axis: int, fill: float | None) -> Array:
    moved = np.moveaxis(planes, axis, -1)
    size = moved.shape[-1]
    made = at_places(moved, np.arange(size, dtype=np.float64) * rate)
    if fill is not None:
        made[..., _seen(size, rate) :] = fill
    return np.moveaxis(made, -1, axis)


def _like(left: Array, right: Array) -> float:
    x, y = left - left.mean(axis=-1, keepdims=True), right - right.mean(axis=-1, keepdims=True)
    energy = float((x**2).sum() * (y**2).sum())
    return float((x * y).sum()) ** 2 / energy if energy > 0 else 0.0
