"""Boxes stand below what they are made of, and no two on the same spot."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.layered import columns, lay_out, needed

GRAPHS = st.lists(st.sets(st.integers(0, 9), max_size=4), min_size=1, max_size=10).map(
    lambda rows: {
        str(at): [str(one) for one in sorted(row) if one < at] for at, row in enumerate(rows)
    }
)


@given(GRAPHS)
def test_every_arrow_leads_down_and_no_two_boxes_share_a_spot(before: dict[str, list[str]]):
    layout = lay_out(before)
    spots = layout.spots
    assert len(set(spots.values())) == len(before)
    for (first, then), way in layout.ways.items():
        assert (way[0], way[-1]) == (spots[first], spots[then])
        assert [spot.level for spot in way] == [*range(way[0].level, way[-1].level + 1)]
    beside = {level: [] for level in range(10)}
    for spot in spots.values():
        beside[spot.level].append(spot.beside)
    for row in beside.values():
        ordered = sorted(row)
        assert all(right - left > 0.99 for left, right in pairwise(ordered))


def _reached(before: dict[str, list[str]], name: str) -> set[str]:
    return {one for first in before[name] for one in (first, *_reached(before, first))}


@given(GRAPHS)
def test_what_is_needed_reaches_all_that_the_whole_reaches_and_nothing_twice(
    before: dict[str, list[str]],
):
    thin = needed(before)
    for name in before:
        assert _reached(thin, name) == _reached(before, name)
        for one in thin[name]:
            assert not any(one in _reached(thin, other) for other in thin[name])


def test_a_circle_is_refused():
    with pytest.raises(ValueError, match="made of each other: a, b"):
        columns({"a": ["b"], "b": ["a"]})
