"""How well samples fit the candidate, and how well they still may."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Array, Samples

FEW_CHANNELS = 8
PROMISE_VALUES = 1 << 11  # a guide and no judgement: fewer values than are scored will do
MIN_PROMISE_ROWS = 2


def aligned(reference: Samples, candidate: Samples) -> bool:
    """Say whether the two can be compared value by value."""
    return reference.values.shape == candidate.values.shape


def squared_error(left: Array, right: Array) -> float:
    """Sum the squared differences."""
    return float(((left - right) ** 2).sum())


def own_variation(candidate: Samples) -> float:
    """Sum the squares about the mean of each channel: what a constant cannot explain."""
    planes = candidate.planes
    return float(((planes - planes.mean(axis=(0, 2, 3), keepdims=True)) ** 2).sum())


def correlation(reference: Array, candidate: Array) -> float:
    """Give the squared correlation at equal places over all planes; 0 where a side is constant."""
    left = reference - reference.mean(axis=(0, 2, 3), keepdims=True)
    right = candidate - candidate.mean(axis=(0, 2, 3), keepdims=True)
    over = (0, 2, 3)
    energies = (left**2).sum(axis=over) * (right**2).sum(axis=over)
    products = (left * right).sum(axis=over) ** 2
    weights = (right**2).sum(axis=over)
    total = float(weights.sum())
    if total == 0:
        return 0.0
    shares = np.divide(products, energies, out=np.zeros_like(products), where=energies > 0)
    return float((shares * weights).sum() / total)


def cross_correlations(reference: Array, candidate: Array) -> Iterator[tuple[int, int, Array]]:
    """Yield, for pairs of channels, (from, to, correlations at all circular shifts).

    Each plane is centred, so that a picture's brightness does not pass for its geometry. Unequal
    sizes are padded by the mean. With many channels only equal ones are paired.
    """
    size = tuple(np.maximum(reference.shape[2:], candidate.shape[2:]))
    over: tuple[int, ...] = (2, 3) if size != (1, 1) else (0,)
    sides = []
    for planes in (reference, candidate):
        centred = planes - planes.mean(axis=over, keepdims=True)
        norms = np.sqrt((centred**2).sum(axis=(0, 2, 3)))
        sides.append((np.fft.rfft2(centred, s=size), norms))
    (left, left_norms), (right, right_norms) = sides
    every = max(len(left_norms), len(right_norms)) <= FEW_CHANNELS
    for to in range(len(right_norms)):
        for source in range(len(left_norms)) if every else [to][: len(left_norms) > to]:
            norm = left_norms[source] * right_norms[to]
            if norm <= 0:
                continue
            spectrum = (np.conj(left[:, source]) * right[:, to]).sum(axis=0)
            yield source, to, np.fft.irfft2(spectrum, s=size) / norm


def channel_match(reference: Array, candidate: Array) -> NDArray[np.float64]:
    """Give (channels, channels) the largest squared correlation over all shifts, [to, from]."""
    match = np.zeros((candidate.shape[1], reference.shape[1]))
    for source, to, correlations in cross_correlations(reference, candidate):
        match[to, source] = float((correlations**2).max())
    return match


def promise(reference: Samples, candidate: Samples) -> float:
    """Give in [0, 1] what a shift, an order of channels and a map of values could still explain."""
    if reference.values.ndim != candidate.values.ndim:
        return 0.0
    rows = max(MIN_PROMISE_ROWS, PROMISE_VALUES // max(1, reference.values[0].size))
    match = channel_match(reference.planes[:rows], candidate.planes[:rows])
    return float(match.max(axis=1).mean())
