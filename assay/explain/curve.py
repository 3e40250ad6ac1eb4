"""Values through a curve: gamma, sRGB, or any rising or falling one."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation

GAMMAS = (2.2, 1 / 2.2, 2.4, 1 / 2.4, 1.8, 1 / 1.8, 2.0, 0.5, 3.0, 1 / 3, 1.5, 1 / 1.5)
NEAR = 5e-3  # relative, of a known gamma
NUM_KNOTS = 32
MOST_LEVELS, MANY = 256, 20  # values that are all knots; how many there must be of each
SRGB_KNEE_LINEAR, SRGB_KNEE = 0.0031308, 0.04045  # IEC 61966-2-1
MAX_VALUES = 1 << 11  # of the search for gamma
HOPELESS = 0.9  # of squared correlation at the best power of a grid: below, it is no gamma


def gamma(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a power of values in [0, full scale], found at whatever scale the candidate has.

    The full scale is 1, 255 or 65535, the least that holds the values; no negative values.
    """
    if not aligned(reference, candidate) or reference.values.min() < 0:
        return
    largest = float(reference.values.max())
    full = next((scale for scale in (1.0, 255.0, 65535.0) if largest <= scale * 1.001), largest)
    if largest == 0:
        return
    step = max(1, reference.values.size // MAX_VALUES)
    x = (reference.values.ravel()[::step] / full)[None, None, None]
    y = candidate.values.ravel()[::step][None, None, None]
    for name, transfer in (
        ("linear light to sRGB", _to_srgb),
        ("sRGB to linear light", _from_srgb),
    ):
        if correlation(transfer(x), y) > 0.9999:  # noqa: PLR2004
            yield of_planes("gamma", name, _scaled(transfer, full), cost=1.15, full_scale=full)
    exponent = _exponent(x, y)
    if exponent is None:
        return
    known = next((g for g in GAMMAS if abs(exponent - g) <= NEAR * g), None)
    if abs(exponent - 1) < 0.02 or not 0.11 < exponent < 9:  # noqa: PLR2004
        return
    for power, cost in ((known, 1.1), (exponent, 1.2)):
        if power is not None:
            name = f"gamma {power:.4g} (x -> x^{power:.4g} of full scale {full:.6g})"
            yield of_planes(
                "gamma", name, _scaled(_power(power), full), cost=cost, gamma=power, full_scale=full
            )


def monotone_curve(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a piecewise linear curve through the means of 32 shares of the values.

    Where there are few values, as of bytes, all of these are knots: a steep curve is exact then.

    The last resort for values: it has many parameters, and costs as much as two and a half plain
    transforms. Not proposed where the means do not all rise or all fall.
    """
    if not aligned(reference, candidate) or reference.values.size < 20 * NUM_KNOTS:
        return
    x, y = reference.values.ravel(), candidate.values.ravel()
    levels = np.unique(x)
    if NUM_KNOTS < len(levels) <= MOST_LEVELS and x.size >= MANY * len(levels):
        bins = np.searchsorted(levels, x)
    else:
        edges = np.unique(np.quantile(x, np.linspace(0, 1, NUM_KNOTS + 1)))
        bins = np.searchsorted(edges[1:-1], x, side="right")
    counts = np.bincount(bins)
    used = counts > 0
    knots_x = (np.bincount(bins, x)[used] / counts[used]).tolist()
    knots_y = (np.bincount(bins, y)[used] / counts[used]).tolist()
    rises = np.diff(knots_y)
    if len(knots_x) < 3 or not ((rises >= 0).all() or (rises <= 0).all()):  # noqa: PLR2004
        return
    # The outermost pieces run on to the extremes, where there is no mean.
    for end, inner, at in ((0, 1, float(x.min())), (-1, -2, float(x.max()))):
        slope = (knots_y[end] - knots_y[inner]) / (knots_x[end] - knots_x[inner])
        value = knots_y[end] + slope * (at - knots_x[end])
        position = 0 if end == 0 else len(knots_x)
        knots_x.insert(position, at)
        knots_y.insert(position, value)
    yield of_planes(
        "monotone_curve",
        f"values through a {'rising' if rises.sum() > 0 else 'falling'} curve",
        lambda planes: np.interp(planes, knots_x, knots_y),
        cost=2.5,
        knots_x=knots_x,
        knots_y=knots_y,
    )


def _exponent(x: Array, y: Array) -> float | None:
    """Search the power of x that correlates best with y: a grid, then thirds; None: none does."""
    grid = np.linspace(-3.2, 3.2, 9)
    fits = [correlation(x**2.0**log, y) for log in grid]
    if max(fits) < HOPELESS:
        return None
    best = float(grid[int(np.argmax(fits))])
    low, high = best - 0.8, best + 0.8
    for _ in range(32):
        third = (high - low) / 3
        if correlation(x**2 ** (low + third), y) < correlation(x**2 ** (high - third), y):
            low += third
        else:
            high -= third
    return float(2 ** ((low + high) / 2))


def _power(exponent: float) -> Callable[[Array], Array]:
    return lambda x: x**exponent


def _scaled(transfer: Callable[[Array], Array], full: float) -> Callable[[Array], Array]:
    return lambda planes: full * transfer(np.maximum(planes, 0.0) / full)


def _to_srgb(x: Array) -> Array:
    return np.where(x <= SRGB_KNEE_LINEAR, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)


def _from_srgb(x: Array) -> Array:
    return np.where(x <= SRGB_KNEE, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
