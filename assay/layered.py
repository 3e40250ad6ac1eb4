"""Where the boxes of a graph without circles stand: arrows point down, and most are short."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_Stop = str | tuple[str, str, int]
"""A box, or where the arrow from one box to another passes a level."""

SWEEPS = 6  # down and up: more hardly moves a box
LANE = 0.2  # what an arrow takes that passes a level, of a box's breadth


@dataclass(frozen=True, slots=True)
class Spot:
    """A place: how many arrows lead there at most, and how far beside the middle, in boxes."""

    level: int
    beside: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Where boxes stand, and where their arrows pass the levels between them."""

    spots: Mapping[str, Spot]
    ways: Mapping[tuple[str, str], tuple[Spot, ...]]  # (from, to) -> first and last are boxes


def lay_out(before: Mapping[str, Sequence[str]]) -> Layout:
    """Place each box below all that it is made of, near to them, with a lane for each long arrow.

    Args:
        before: box -> the boxes that it is made of, each once; those that are no key are left out.

    Raises:
        ValueError: the boxes stand in a circle.

    >>> lay_out({"data": [], "model": ["data"]}).spots["model"]
    Spot(level=1, beside=0.0)
    """
    level = columns(before)
    shelves: dict[int, list[_Stop]] = {}
    for name in before:
        shelves.setdefault(level[name], []).append(name)
    ways: dict[tuple[str, str], list[_Stop]] = {}
    links: dict[_Stop, list[_Stop]] = {}
    for one, name in _arrows(before):
        stops: list[_Stop] = [one]
        for at in range(level[one] + 1, level[name]):
            stops.append((one, name, at))
            shelves.setdefault(at, []).append(stops[-1])
        ways[one, name] = [*stops, name]
        for first, then in pairwise(ways[one, name]):
            links.setdefault(first, []).append(then)
            links.setdefault(then, []).append(first)
    beside = _spread(shelves, links)
    spots = {
        stop: Spot(number, beside[stop]) for number, shelf in shelves.items() for stop in shelf
    }
    return Layout(
        {name: spots[name] for name in before},
        {arrow: tuple(spots[stop] for stop in stops) for arrow, stops in ways.items()},
    )


def _arrows(before: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(one, name) for name in before for one in before[name] if one in before]


def _spread(
    shelves: dict[int, list["_Stop"]], links: Mapping["_Stop", Sequence["_Stop"]]
) -> dict["_Stop", float]:
    """Order each level by the middle of what its members are linked with, again and again."""
    beside: dict[_Stop, float] = {}
    for shelf in shelves.values():
        beside |= _centred(shelf)
    for sweep in range(SWEEPS):
        for number in sorted(shelves, reverse=bool(sweep % 2)):
            wanted = {
                stop: _mean([beside[one] for one in links.get(stop, ())])
                for stop in shelves[number]
            }
            shelves[number].sort(key=lambda stop: (wanted[stop], str(stop)))
            beside |= _centred(shelves[number])
    return beside


def columns(before: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the length of the longest way to each box.

    Raises:
        ValueError: the boxes stand in a circle.
    """
    found: dict[str, int] = {}
    waiting = list(before)
    while waiting:
        free = [
            name
            for name in waiting
            if all(one in found or one not in before for one in before[name])
        ]
        if not free:
            raise ValueError(f"These are made of each other: {', '.join(waiting)}.")
        found |= {
            name: 1 + max((found[one] for one in before[name] if one in before), default=-1)
            for name in free
        }
        waiting = [name for name in waiting if name not in found]
    return found


def needed(before: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Leave out what follows from the rest: a box that is reached by way of another.

    >>> needed({"a": [], "b": ["a"], "c": ["a", "b"]})
    {'a': [], 'b': ['a'], 'c': ['b']}
    """
    above: dict[str, set[str]] = {}
    order = columns(before)
    for name in sorted(before, key=order.__getitem__):
        known = [one for one in before[name] if one in before]
        above[name] = {*known, *(far for one in known for far in above[one])}
    return {
        name: [
            one
            for one in dict.fromkeys(before[name])
            if one in before
            and not any(one in above[other] for other in before[name] if other in before)
        ]
        for name in before
    }


def _centred(shelf: Sequence["_Stop"]) -> dict["_Stop", float]:
    """Put the members of a level beside each other, its middle at 0."""
    breadths = [1.0 if isinstance(stop, str) else LANE for stop in shelf]
    at, found = -sum(breadths) / 2, {}
    for stop, breadth in zip(shelf, breadths, strict=True):
        found[stop] = at + breadth / 2
        at += breadth
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
