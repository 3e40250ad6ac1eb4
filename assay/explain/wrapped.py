"""Values that ran over a type's end and start again from below, with a gain before or after."""

from collections.abc import Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

MAX_VALUES = 1 << 12  # that the line is fitted to
SPAN = 16  # of so many parts of the range the slope is the median rise
JUMP = 0.3  # of the candidate's range, at least: less is no start from below
ROUNDS = 4
MAX_TIMES = 16  # that values start again
FIT = 0.99  # of the variation of a value given the reference's
MIN_DISTINCT = 8


def wrapped(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a line that starts again from below where a type ends: a sawtooth of the reference.

    The period is free: a gain before the cast, and a scale after it, are part of the line.
    """
    if not aligned(reference, candidate) or reference.values.size < 20:  # noqa: PLR2004
        return
    step = max(1, reference.values.size // MAX_VALUES)
    x, y = reference.values.ravel()[::step], candidate.values.ravel()[::step]
    found = _sawtooth(x, y)
    if found is None:
        return
    slope, offset, period, start = found
    gain = "" if abs(slope - 1) < 1e-3 else f"multiplied by {slope:.4g}, and "  # noqa: PLR2004
    yield of_planes(
        "wrap",
        f"{gain}started again from below every {period:.4g} (a type's range was left)",
        lambda p: _fold(slope * p + offset, period, start),
        cost=1.35,
        slope=slope,
        offset=offset,
        period=period,
    )


def _fold(values: Array, period: float, start: float) -> Array:
    return np.asarray(values - period * np.floor((values - start) / period))


def _sawtooth(x: Array, y: Array) -> tuple[float, float, float, float] | None:
    """Fit (slope, offset, period, where a period starts), or None where y is no such line."""
    slope = _rise(x, y)
    # A line that ends within the candidate's range has nothing to start again from.
    if slope is None or abs(slope) * np.ptp(x) < np.ptp(y):
        return None
    away = y - slope * x
    ends = np.sort(away)
    gaps = np.diff(ends)
    # Whole periods apart, and close together within one.
    cuts = np.flatnonzero(gaps > JUMP * np.ptp(y))
    if not 0 < len(cuts) <= MAX_TIMES:
        return None
    middles = [float(np.median(part)) for part in np.split(ends, cuts + 1)]
    period = float(np.median(np.diff(middles)))
    offset = middles[-1]
    for _ in range(ROUNDS):
        times = np.rint((slope * x + offset - y) / period)
        if np.ptp(times) == 0:
            return None
        design = np.column_stack([x, np.ones_like(x), -times])
        (slope, offset, period), *_ = np.linalg.lstsq(design, y, rcond=None)
        if period <= 0:
            return None
    line = slope * x + offset
    times = np.rint((line - y) / period)
    # A period starts below all values that are in it, and above those of the one before.
    within = line - times * period
    start = _start(float(within.max() - period), float(within.min()), float(period))
    error = float(((_fold(line, period, start) - y) ** 2).mean())
    return (
        (float(slope), float(offset), float(period), start)
        if error <= (1 - FIT) * y.var()
        else None
    )


def _start(least: float, most: float, period: float) -> float:
    """Say where a period starts: where a type's range does, if that lies between the bounds.

    A type starts at zero, or half of its range below; by half a step less, as numbers are rounded.
    """
    half_a_step = period / 512
    for start in (-half_a_step, -period / 2 - half_a_step):
        if least < start <= most:
            return start
    return (least + most) / 2


def _rise(x: Array, y: Array) -> float | None:
    """Give the median slope over a part of the range: what starts again spoils the fewer."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    distinct, first = np.unique(x, return_index=True)
    if len(distinct) < MIN_DISTINCT:
        return None
    means = np.add.reduceat(y, first) / np.diff([*first, len(y)])
    after = np.searchsorted(distinct, distinct + (distinct[-1] - distinct[0]) / SPAN)
    seen = after < len(distinct)
    rises = means[after[seen]] - means[seen]
    return float(np.median(rises / (distinct[after[seen]] - distinct[seen])))
