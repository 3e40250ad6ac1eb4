"""Channels or columns that are missing, doubled or put in: another number of them."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes

GREY, COLOUR = 1, 3
MIN_MATCH = 0.98  # of squared correlation: the same channel, whatever its scale
NAMED = 4


def channels(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose which of the reference's channels the candidate has, and what stands in new ones."""
    if reference.values.ndim != candidate.values.ndim:
        yield from _without_axis(reference, candidate)
        return
    left, right = reference.planes, candidate.planes
    if left.shape[1] == right.shape[1] or left.shape[2:] != right.shape[2:]:
        return
    match = _match(left, right)
    sources = [int(s) if match[to, s] >= MIN_MATCH else -1 for to, s in enumerate(match.argmax(1))]
    if all(source < 0 for source in sources):
        return
    fills = [float(np.median(right[:, to])) for to in range(right.shape[1])]
    kind, name = _said(reference, sources)
    yield of_planes(kind, name, lambda p: _take(p, sources, fills), cost=1.1, sources=sources)


def _without_axis(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose one channel alone, or a plane repeated, where the axis of channels is gone or new."""
    axis = reference.channel_axis
    if axis is not None and candidate.values.ndim == reference.values.ndim - 1:
        shape = np.delete(reference.values.shape, axis)
        if tuple(shape) == candidate.values.shape and reference.values.shape[axis] <= NAMED:
            for channel in range(reference.values.shape[axis]):
                yield Proposal(
                    kind="channel_drop",
                    name=f"only {reference.named(channel)} kept",
                    apply=_only(channel, axis),
                    cost=1.05,
                    parameters={"channel": channel},
                )


def _only(channel: int, axis: int) -> Callable[[Samples], Samples]:
    return lambda samples: Samples(
        values=np.take(samples.values, channel, axis=axis), channel_axis=None
    )


def _match(left: Array, right: Array) -> Array:
    sides = []
    for planes in (left, right):
        rows = np.moveaxis(planes, 1, 0).reshape(planes.shape[1], -1)
        centred = rows - rows.mean(axis=1, keepdims=True)
        norms = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        sides.append(np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0))
    return np.asarray((sides[1] @ sides[0].T) ** 2)


def _take(planes: Array, sources: Sequence[int], fills: Sequence[float]) -> Array:
    taken = planes[:, [max(0, source) for source in sources]].copy()
    for to, source in enumerate(sources):
        if source < 0:
            taken[:, to] = fills[to]
    return taken


def _said(reference: Samples, sources: Sequence[int]) -> tuple[str, str]:
    had, has = reference.planes.shape[1], len(sources)
    what = f"{reference.kind}s"
    if had == GREY:
        return "channel_repeat", f"the only {reference.kind} repeated {has} times"
    gone = [channel for channel in range(had) if channel not in sources]
    new = [to for to, source in enumerate(sources) if source < 0]
    texts = []
    if gone:
        names = ", ".join(reference.named(c) for c in gone[:NAMED])
        texts.append(f"{names}{' and more' * (len(gone) > NAMED)} left out")
    if new:
        texts.append(f"{what} put in at {', '.join(map(str, new[:NAMED]))}")
    if not texts:
        texts.append(f"{what} doubled")
    kept = [source for source in sources if source >= 0]
    if kept != sorted(kept):
        texts.append("in another order")
    kind = "channel_drop" if has < had else "channel_add"
    return kind, f"{has} {what if has > 1 else reference.kind} instead of {had}: " + ", ".join(
        texts
    )
