"""Compose explainers until the candidate is explained: a beam search, shortest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import (
    Array,
    Explainer,
    Explanation,
    Parameter,
    Proposal,
    Samples,
    guess_channel_axis,
)
from assay.explain.score import aligned, correlation, own_variation, promise, squared_error

SEARCH_VALUES = 1 << 14  # values that the search looks at; all rows are looked at to accept
MIN_SEARCH_ROWS = 2
MOVE, FILTER, MAP = 0, 1, 2  # in this order they are composed
BEAM = ((12, 3, 10), (5, 2, 5))  # kept of each, after the first step and after later ones
PROMISING = 0.5  # times the promise of the best move: less is dropped
EXACT, DEAR = 1e-9, 0.5
LIKELY = 2  # nodes, the most promising, that filters are tried on after a first step
HOPELESS = 0.25  # of promise, after two steps: no third makes a fit of it
HOPELESS_FILTER = 0.8  # of squared correlation, after a filter
RELATED = 0.3  # of squared correlation: with less, no map of values fits
WORSE_FIT = 0.5  # what an inexact explanation costs where another is exact
BLOCK_VALUES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The reference after some steps, and how much of the candidate that leaves unexplained."""

    samples: Samples
    steps: tuple[Proposal, ...]
    used: frozenset[int]  # the explainers, so that none is used twice
    phase: int  # of its last step: MOVE, FILTER or MAP
    unexplained: float
    promise: float

    @property
    def slack(self) -> float:
        """Give what its steps may leave unexplained together, beside what all may."""
        return sum(step.slack for step in self.steps)

    @property
    def cost(self) -> float:
        """Give what its steps cost together."""
        return sum(step.cost for step in self.steps)


def search(
    reference: NDArray[Any],
    candidate: NDArray[Any],
    *,
    phases: Sequence[Sequence[Explainer]],
    max_depth: int,
    accept: float,
    names: Sequence[str] = (),
) -> Explanation | None:
    """Find the cheapest composition of at most `max_depth` steps that explains `accept`.

    Moves of values come before filters, and those before maps of values: moves and maps commute, so
    that one order will do. The beam ranks moves by what could still be explained (see `promise`),
    filters by correlation, maps by what is explained.

    `phases` are the explainers that move values, that filter or mix them, that map each by itself.
    """
    rows = _rows_to_search(reference, candidate)
    if not len(rows):
        return None
    target = Samples(values=candidate[rows].astype(np.float64), channel_axis=None)
    start = Samples(
        values=reference[rows].astype(np.float64),
        channel_axis=guess_channel_axis(reference.shape),
        names=tuple(names),
    )
    scale = squared_error(start.values, target.values) if aligned(start, target) else None
    level = [_node(start, _like(target, start), (), frozenset(), MOVE, scale=scale, last=False)]
    found: list[Node] = []
    for depth in range(1, max_depth + 1):
        last = depth == max_depth
        children: list[Node] = []
        for rank, node in enumerate(level):
            own = list(_children(node, target, phases, scale, last=last, likely=rank < LIKELY))
            found += [child for child in own if 1 - child.unexplained >= accept - child.slack]
            children += own
            if depth > 1 and any(_settles(child, depth) for child in found):
                break
        # A longer one costs at least its number of steps: it cannot be preferred.
        if found and min(node.cost for node in found) <= depth + 1:
            break
        level = _beam(children, depth)
    return _best(found, reference, candidate, accept)


def _rows_to_search(reference: NDArray[Any], candidate: NDArray[Any]) -> NDArray[np.intp]:
    finite = np.array(
        [
            bool(np.isfinite(left).all() and np.isfinite(right).all())
            for left, right in zip(reference, candidate, strict=True)
        ],
        dtype=np.bool_,
    )
    rows = np.flatnonzero(finite)
    a_row = max(1, reference[0].size, candidate[0].size) if len(reference) else 1
    count = min(len(rows), max(MIN_SEARCH_ROWS, SEARCH_VALUES // a_row))
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(np.intp)] if count else rows


def _like(target: Samples, samples: Samples) -> Samples:
    """Read the candidate in the layout that the samples have now."""
    same = target.values.ndim == samples.values.ndim
    axis = samples.channel_axis if same else guess_channel_axis(target.values.shape)
    return Samples(values=target.values, channel_axis=axis)


def _node(
    samples: Samples,
    target: Samples,
    steps: tuple[Proposal, ...],
    used: frozenset[int],
    phase: int,
    *,
    scale: float | None,
    last: bool,
) -> Node:
    unexplained, hope = 1.0, 0.0
    alike = aligned(samples, target)
    if alike:
        error = squared_error(samples.values, target.values)
        unexplained = _unexplained(error, scale, own_variation(target))
    # Maps of values are ranked by what they explain, and what comes last needs no promise.
    if phase == MOVE and not last:
        hope = promise(samples, target)
    elif phase == FILTER and alike:
        hope = correlation(samples.planes, target.planes)
    return Node(
        samples=samples,
        steps=steps,
        used=used,
        phase=phase,
        unexplained=unexplained,
        promise=hope,
    )


def _unexplained(error: float, scale: float | None, own: float) -> float:
    """Give the larger share: of the untransformed difference, or of the candidate itself.

    The first alone is fooled by a constant far away, the second by a small difference.
    """
    bounds = [bound for bound in (scale, own) if bound is not None and bound > 0]
    return max((error / bound for bound in bounds), default=0.0 if error == 0 else 1.0)


def _children(
    node: Node,
    target: Samples,
    phases: Sequence[Sequence[Explainer]],
    scale: float | None,
    *,
    last: bool,
    likely: bool,
) -> Iterator[Node]:
    like = _like(target, node.samples)
    related = aligned(node.samples, like) and _related(node.samples.planes, like.planes)
    numbered = enumerate((phase, e) for phase, group in enumerate(phases) for e in group)
    for number, (phase, explainer) in numbered:
        if number in node.used or phase < node.phase:
            continue
        if (phase == MAP and not related) or (phase == FILTER and not likely):
            continue
        for proposal in explainer(node.samples, like):
            samples = proposal.apply(node.samples)
            yield _node(
                samples,
                _like(target, samples),
                (*node.steps, proposal),
                node.used | {number},
                phase,
                scale=scale,
                last=last,
            )


def _related(reference: Array, candidate: Array) -> bool:
    """Say whether a map of values may fit; a wrap leaves no correlation, but whole numbers."""
    return correlation(reference, candidate) >= RELATED or bool(
        (candidate == np.rint(candidate)).all()
    )


def _settles(node: Node, depth: int) -> bool:
    """Say whether an explanation is as good as any of its length can be."""
    return node.unexplained <= EXACT and node.cost <= depth + DEAR


def _beam(children: list[Node], depth: int) -> list[Node]:
    moved, filtered, mapped = (
        [child for child in children if child.phase == phase] for phase in (MOVE, FILTER, MAP)
    )
    best = max((child.promise for child in moved), default=0.0)
    least = max(PROMISING * best, HOPELESS if depth > 1 else 0.0)
    moved = [child for child in moved if child.promise >= least]
    filtered = [child for child in filtered if child.promise >= HOPELESS_FILTER]
    moved.sort(key=lambda node: (-node.promise, node.cost))
    filtered.sort(key=lambda node: (-node.promise, node.cost))
    mapped.sort(key=lambda node: (node.unexplained, node.cost))
    sizes = BEAM[min(depth, len(BEAM)) - 1]
    kept = moved[: sizes[MOVE]] + filtered[: sizes[FILTER]] + mapped[: sizes[MAP]]
    # The likeliest first: what explains exactly ends the search.
    return sorted(kept, key=lambda node: -max(node.promise, 1 - node.unexplained))


def _best(
    found: list[Node], reference: NDArray[Any], candidate: NDArray[Any], accept: float
) -> Explanation | None:
    if not found:
        return None
    best_fit = min(node.unexplained for node in found)

    def rank(node: Node) -> float:
        return node.cost + WORSE_FIT * (node.unexplained > 20 * best_fit + 1e-6)

    ranked = sorted(found, key=lambda node: (rank(node), node.unexplained))
    for at, node in enumerate(ranked):
        explained, accepted = _verify(node, reference, candidate, accept)
        if accepted:
            kinds = tuple(step.kind for step in node.steps)
            others = [
                n for n in ranked[at + 1 :] if _parts(n) != kinds and rank(n) < rank(node) + 0.5
            ]
            names = dict.fromkeys(_name(n.steps) for n in others)
            return Explanation(
                name=_name(node.steps),
                kind="+".join(kinds),
                parameters=_parameters(node.steps),
                residual_explained=explained,
                parts=kinds,
                alternatives=tuple(names)[:5],
            )
    return None


def _verify(
    node: Node, reference: NDArray[Any], candidate: NDArray[Any], accept: float
) -> tuple[float, bool]:
    """Apply the steps to all finite rows, block by block: (share explained, whether accepted)."""
    error = difference = own = 0.0
    comparable = reference.shape == candidate.shape
    step = max(1, BLOCK_VALUES // max(1, reference[0].size))
    for start in range(0, len(reference), step):
        left = reference[start : start + step].astype(np.float64)
        right = candidate[start : start + step].astype(np.float64)
        kept = _finite_rows(left) & _finite_rows(right)
        if not kept.any():
            continue
        left, right = left[kept], right[kept]
        samples = Samples(values=left, channel_axis=guess_channel_axis(reference.shape))
        for proposal in node.steps:
            samples = proposal.apply(samples)
        error += squared_error(samples.values, right)
        difference += squared_error(left, right) if comparable else 0.0
        target = _like(Samples(values=right, channel_axis=None), samples)
        own += own_variation(target)
    unexplained = _unexplained(error, difference if comparable else None, own)
    total = difference if comparable else own
    return 1 - error / total if total > 0 else 1.0, 1 - unexplained >= accept - node.slack


def _finite_rows(values: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(values).reshape(len(values), -1).all(axis=1))


def _parts(node: Node) -> tuple[str, ...]:
    return tuple(step.kind for step in node.steps)


def _name(steps: tuple[Proposal, ...]) -> str:
    return ", then ".join(step.name for step in steps)


def _parameters(steps: tuple[Proposal, ...]) -> dict[str, Parameter]:
    if len(steps) == 1:
        return steps[0].parameters
    return {f"{s.kind}.{key}": value for s in steps for key, value in s.parameters.items()}
