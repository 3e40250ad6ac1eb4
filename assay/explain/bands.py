"""A gain for each line along one axis: bands of a filter bank, rows of a sensor."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

FIT = 0.98
MIN_SEEN = 8  # values a line, at least
MAX_LINES = 512
SHOWN = 3


def bands(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose one factor for each line along height or width, no offset; all alike is a scale."""
    if not aligned(reference, candidate):
        return
    left, right = reference.planes, candidate.planes
    for axis, what in ((2, "row"), (3, "column")):
        lines = left.shape[axis]
        if not 1 < lines <= MAX_LINES or left.size < MIN_SEEN * lines:
            continue
        over = tuple(a for a in range(4) if a != axis)
        energy = (left**2).sum(axis=over)
        gains = np.divide(
            (left * right).sum(axis=over), energy, out=np.zeros(lines), where=energy > 0
        )
        shape = [1, 1, 1, 1]
        shape[axis] = lines
        scaled = gains.reshape(shape)
        error = float(((right - scaled * left) ** 2).sum())
        total = float(((right - right.mean(axis=over, keepdims=True)) ** 2).sum())
        if total == 0 or 1 - error / total < FIT or np.ptp(gains) < 1e-3 * np.abs(gains).max():
            continue
        few = ", ".join(f"{gain:.3g}" for gain in gains[:SHOWN])
        name = f"each {what} with a gain of its own ({few}, ... {gains[-1]:.3g})"
        values = [float(v) for v in gains]
        yield of_planes("band_gain", name, _times(scaled), cost=1.8, gains=values)


def _times(gains: Array) -> Callable[[Array], Array]:
    return lambda planes: planes * gains
