"""Each sample centred or scaled by its own figures, where the other side takes those of a set."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation

Figure = Callable[[Array, tuple[int, ...]], Array]
TINY = 1e-12
LIKE = 0.97  # of squared correlation, to be proposed: a map of values may follow


def _mean(planes: Array, over: tuple[int, ...]) -> Array:
    return np.asarray(planes - planes.mean(axis=over, keepdims=True))


def _standard(planes: Array, over: tuple[int, ...]) -> Array:
    return _over(_mean(planes, over), planes.std(axis=over, keepdims=True))


def _unit(planes: Array, over: tuple[int, ...]) -> Array:
    return _over(planes, np.sqrt((planes**2).sum(axis=over, keepdims=True)))


def _peak(planes: Array, over: tuple[int, ...]) -> Array:
    return _over(planes, np.abs(planes).max(axis=over, keepdims=True))


def _range(planes: Array, over: tuple[int, ...]) -> Array:
    low = planes.min(axis=over, keepdims=True)
    return _over(planes - low, planes.max(axis=over, keepdims=True) - low)


def _share(planes: Array, over: tuple[int, ...]) -> Array:
    return _over(planes, planes.sum(axis=over, keepdims=True))


def _over(values: Array, by: Array) -> Array:
    return np.asarray(np.divide(values, by, out=np.zeros_like(values), where=np.abs(by) > TINY))


FIGURES: tuple[tuple[str, str, Figure], ...] = (
    ("mean_removed", "the mean {} removed", _mean),
    ("standardised_per_sample", "standardised {}", _standard),
    ("scaled_per_sample", "scaled to a norm of 1 {}", _unit),
    ("scaled_per_sample", "scaled to a peak of 1 {}", _peak),
    ("scaled_per_sample", "scaled to the range 0 to 1 {}", _range),
    ("scaled_per_sample", "scaled to a sum of 1 {}", _share),
)


def per_sample(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose each figure taken of a sample, of each of its channels, or of a place's channels."""
    if not aligned(reference, candidate):
        return
    planes, wanted = reference.planes, candidate.planes
    places, channels = planes.shape[2] * planes.shape[3], planes.shape[1]
    ways: list[tuple[str, tuple[int, ...]]] = []
    if places > 1:
        ways.append(("of each sample", (1, 2, 3)))
    if places > 1 and channels > 1:
        ways.append((f"of each {reference.kind} of each sample", (2, 3)))
    if channels > 1:
        where = "of each place" if places > 1 else "of each sample"
        ways.append((f"over the {reference.kind}s {where}", (1,)))
    for kind, text, figure in FIGURES:
        for where, over in ways:
            if correlation(figure(planes, over), wanted) >= LIKE:
                apply = _by(figure, over)
                yield of_planes(kind, text.format(where), apply, cost=1.15, over=where)


def _by(figure: Figure, over: tuple[int, ...]) -> Callable[[Array], Array]:
    return lambda planes: figure(planes, over)
