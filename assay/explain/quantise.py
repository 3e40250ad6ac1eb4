"""Values rounded, cut off, clipped, wrapped or kept in fewer bits."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

ON_GRID = 5e-3  # of a step
MIN_LEVELS = 2
FEW_LEVELS = 16  # that a staircase is given for step by step
FINER = 4  # times as many values as levels has the reference, at least
COARSE = 16  # a step of whole numbers, from which on each level may itself be rounded
SATURATED = 0.005  # share of values at a bound
HALF_MAX = 65504.0
INTEGERS = (
    ("uint8", 0, 1 << 8),
    ("int8", -(1 << 7), 1 << 8),
    ("uint16", 0, 1 << 16),
    ("int16", -(1 << 15), 1 << 16),
)  # name, least value, number of values


def quantise(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose rounding to, or cutting down to, the grid on which the candidate's values lie."""
    if not aligned(reference, candidate):
        return
    with np.errstate(over="ignore"):
        half = reference.values.astype(np.float16).astype(np.float64)
    if np.isfinite(half).all() and np.allclose(half, candidate.values, rtol=1e-6, atol=0):
        yield of_planes("half_precision", "kept in half precision", _half, cost=1.1, bits=16)
    yield from _few_levels(reference, candidate)
    planes = candidate.planes
    grids = [_grid(planes[:, channel]) for channel in range(planes.shape[1])]
    found = [grid for grid in grids if grid is not None]
    if len(found) < len(grids):
        return
    origins, steps = (np.array(column)[:, None, None] for column in zip(*found, strict=True))
    step = float(steps.min())
    size = (
        f"{step:.6g}"
        if abs(1 / step - round(1 / step)) > 1e-3 * (1 / step)
        else f"1/{round(1 / step)}"
    )
    size = f"{step:.6g}" if step >= 1 else size
    grid_steps = [float(v) for v in steps.ravel()]
    for way, verb, cut in (
        ("round", "rounded", np.rint),
        ("round_up", "rounded (halves up)", lambda x: np.floor(x + 0.5)),
        ("floor", "cut down (not rounded)", np.floor),
        ("truncate", "cut towards zero", np.trunc),
    ):
        name = f"{verb} to steps of {size}"
        yield of_planes(
            "quantise", name, _on_grid(origins, steps, cut), cost=1.2, step=grid_steps, way=way
        )


def _few_levels(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a staircase whose steps are where the reference's values change their level."""
    x, y = reference.values.ravel(), candidate.values.ravel()
    levels = np.unique(y)
    if not 1 < len(levels) <= FEW_LEVELS or len(np.unique(x)) < FINER * len(levels):
        return
    lowest = np.array([x[y >= level].min() for level in levels[1:]])
    highest = np.array([x[y < level].max() for level in levels[1:]])
    edges = (lowest + highest) / 2
    if (np.diff(edges) <= 0).any():
        return
    yield of_planes(
        "quantise",
        f"brought to {len(levels)} levels",
        lambda planes: levels[np.searchsorted(edges, planes, side="right")],
        cost=1.4,
        levels=[float(level) for level in levels],
    )


def clip(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose clipping at the candidate's extremes, where values pile up at one of them."""
    if not aligned(reference, candidate):
        return
    values = candidate.values
    low, high = float(values.min()), float(values.max())
    cut_low = (values == low).mean() > SATURATED and reference.values.min() < low
    cut_high = (values == high).mean() > SATURATED and reference.values.max() > high
    if low == high or not (cut_low or cut_high):
        return
    bounds = (low if cut_low else -np.inf, high if cut_high else np.inf)
    texts = [f"below {low:.6g}"] * bool(cut_low) + [f"above {high:.6g}"] * bool(cut_high)
    yield of_planes(
        "clip",
        "clipped " + " and ".join(texts),
        lambda p: np.clip(p, *bounds),
        cost=1.1,
        low=low,
        high=high,
    )


def wrap(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a cast to an integer type that wraps, where the reference leaves its range."""
    if not aligned(reference, candidate) or (candidate.values != np.rint(candidate.values)).any():
        return
    for name, low, size in INTEGERS:
        inside = low <= candidate.values.min() and candidate.values.max() < low + size
        leaves = reference.values.min() < low or reference.values.max() >= low + size
        if inside and leaves:
            for way, cut in (("round", np.rint), ("truncate", np.trunc)):
                yield of_planes(
                    "wrap",
                    f"cast to {name} with wrap-around",
                    _wrapped(cut, low, size),
                    cost=1.2,
                    type=name,
                    way=way,
                )


def _grid(values: Array) -> tuple[float, float] | None:
    """Give (origin in [0, step), step) of the grid that all values lie on, or None."""
    levels = np.unique(values)
    if len(levels) < MIN_LEVELS:
        return None
    gaps = np.diff(levels)
    # Float noise splits a level in two: what is far below the median gap is no step.
    step = float(gaps[gaps > 1e-3 * np.median(gaps)].min())
    places = (levels - levels[0]) / step
    slack = ON_GRID * max(1.0, 1e-2 * places[-1])
    if step >= COARSE and (levels == np.rint(levels)).all():
        slack = max(slack, 1 / step)  # as 0, 127 and 255 are steps of 127.5
    if np.abs(places - np.rint(places)).max() > slack:
        return None
    # The smallest gap is rounded; the whole range gives the step to more digits.
    step = float((levels[-1] - levels[0]) / np.rint(places[-1]))
    origin = float(np.mod(levels[0], step))
    return (0.0 if min(origin, step - origin) < 2 * ON_GRID * step else origin), step


def _on_grid(
    origins: Array, steps: Array, cut: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    # The small push keeps a value that is on the grid already from being cut below it; one that
    # is half way is rounded to the even one, as numpy does.
    push = 0.0 if cut is np.rint else 1e-9
    return lambda planes: origins + steps * cut((planes - origins) / steps + push)


def _half(planes: Array) -> Array:
    return np.clip(planes, -HALF_MAX, HALF_MAX).astype(np.float16).astype(np.float64)


def _wrapped(cut: Callable[[Array], Array], low: int, size: int) -> Callable[[Array], Array]:
    return lambda planes: np.mod(cut(planes) - low, size) + low
