"""The order of axes in memory: moved rightly (transpose) or only renamed (reshape)."""

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, guess_channel_axis

MAX_AXES = 3


def layout(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose moves of the axes of a sample, and reshapes before or after them.

    A move of height and width alone is a turn, and left to that explainer.
    """
    source, target = reference.values.shape[1:], candidate.values.shape[1:]
    if len(source) > MAX_AXES or np.prod(source) != np.prod(target):
        return
    axes = tuple(range(len(source)))
    spatial = tuple(axis for axis in axes if axis + 1 != reference.channel_axis)
    for order in permutations(axes):
        moved = tuple(source[axis] for axis in order)
        if moved == target:
            only_turns = all(order[axis] == axis for axis in axes if axis not in spatial)
            if not only_turns:
                name = f"axes moved from {_text(source)} to {_text(target)}"
                yield _propose("layout_transpose", name, _move(order), candidate, order)
            continue
        name = f"reshaped from {_text(moved)} to {_text(target)} as if it had that layout"
        if order != axes:
            name = f"axes moved from {_text(source)} to {_text(moved)}, then " + name
        yield _propose("layout_reshape", name, _move(order, then=target), candidate, order)
    if source == target and len(source) == MAX_AXES:
        for order in permutations(axes):
            renamed = tuple(source[axis] for axis in order)
            if renamed == source:
                continue
            back = tuple(int(axis) for axis in np.argsort(order))
            name = f"reshaped from {_text(source)} to {_text(renamed)} where axes had to be moved"
            yield _propose("layout_reshape", name, _rename(renamed, back), candidate, order)


def _propose(
    kind: str,
    name: str,
    apply: Callable[[Array], Array],
    candidate: Samples,
    order: tuple[int, ...],
) -> Proposal:
    channel_axis = guess_channel_axis(candidate.values.shape)
    return Proposal(
        kind=kind,
        name=name,
        apply=lambda s: Samples(values=apply(s.values), channel_axis=channel_axis),
        parameters={"order": list(order)},
    )


def _move(order: tuple[int, ...], then: tuple[int, ...] | None = None) -> Callable[[Array], Array]:
    def move(values: Array) -> Array:
        moved = values.transpose(0, *(axis + 1 for axis in order))
        return moved if then is None else moved.reshape(len(values), *then)

    return move


def _rename(renamed: tuple[int, ...], back: tuple[int, ...]) -> Callable[[Array], Array]:
    return lambda values: values.reshape(len(values), *renamed).transpose(0, *(a + 1 for a in back))


def _text(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))
