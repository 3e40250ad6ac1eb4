"""Channels (or columns) in another order, or one read in place of another."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import TABLE_NDIM, Proposal, Samples, of_planes
from assay.explain.score import FEW_CHANNELS, channel_match

BRUTE_CHANNELS = 4  # 24 orders
WEAK = 0.25  # of squared correlation: below that a channel is not taken for another
TIE = 1e-6


def channel_order(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the order of channels that correlates best, whatever the scale of each."""
    if reference.values.ndim != candidate.values.ndim:
        return
    left, right = reference.planes, candidate.planes
    num_channels = right.shape[1]
    if left.shape[1] != num_channels or num_channels == 1:
        return
    match = channel_match(left, right) if num_channels <= FEW_CHANNELS else _columns(left, right)
    # Grey pictures have equal channels: what is not moved wins a tie.
    match = np.where(match < WEAK, 0.0, match) + TIE * np.eye(num_channels)
    best = [int(source) for source in match.argmax(axis=1)]
    if sorted(best) != list(range(num_channels)):
        if best != list(range(num_channels)):
            yield _read(best, "channel_copy", 1.2, reference)
        best = _assignment(match)
    if best != list(range(num_channels)):
        yield _read(best, "channel_permutation", 1.0, reference)


def _columns(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    sides = []
    for planes in (left, right):
        columns = np.moveaxis(planes, 1, 0).reshape(planes.shape[1], -1)
        centred = columns - columns.mean(axis=1, keepdims=True)
        norms = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        sides.append(np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0))
    return np.asarray((sides[1] @ sides[0].T) ** 2)


def _assignment(match: NDArray[np.float64]) -> list[int]:
    """Assign each channel another; exact for few, and greedy, best pair first, for many."""
    size = len(match)
    if size <= BRUTE_CHANNELS:
        orders = permutations(range(size))
        return list(max(orders, key=lambda order: match[np.arange(size), list(order)].sum()))
    left, order = match.copy(), [0] * size
    for _ in range(size):
        to, source = np.unravel_index(int(left.argmax()), left.shape)
        order[int(to)] = int(source)
        left[to, :] = left[:, source] = -1.0
    return order


def _read(order: list[int], kind: str, cost: float, samples: Samples) -> Proposal:
    if order == [2, 1, 0] and samples.values.ndim > TABLE_NDIM:
        name = "channels reversed (RGB<->BGR)"
    else:
        short = samples.short
        moved = [f"{short(to)} from {short(at)}" for to, at in enumerate(order) if to != at]
        more = "" if len(moved) <= BRUTE_CHANNELS else f" and {len(moved) - BRUTE_CHANNELS} more"
        what = "in another order" if kind == "channel_permutation" else "read in place of others"
        name = f"{samples.kind}s {what}: " + ", ".join(moved[:BRUTE_CHANNELS]) + more
    return of_planes(kind, name, lambda planes: planes[:, order], cost=cost, order=order)
