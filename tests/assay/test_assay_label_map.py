"""Names of classes that were exchanged are found; labels that merely differ are no other names."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.label_map import cross_table, label_map, match, relabelled, right_once_renamed

LABELS = np.arange(60) % 5


@pytest.mark.parametrize(
    ("candidate", "offset", "around", "changed"),
    [
        pytest.param(LABELS + 1, 1, False, 5, id="begins at 1"),
        pytest.param(LABELS - 1, -1, False, 5, id="begins at -1"),
        pytest.param((LABELS + 2) % 5, 2, True, 5, id="turned"),
        pytest.param(np.array([1, 0, 2, 3, 4])[LABELS], None, False, 2, id="two exchanged"),
        pytest.param(np.array([2, 4, 0, 1, 3])[LABELS], None, False, 5, id="sorted anew"),
        pytest.param(np.where(LABELS == 4, 9, LABELS), None, False, 1, id="one renamed"),
    ],
)
def test_a_map_is_named(candidate, offset, around, changed):
    found = label_map(LABELS, candidate)
    assert (found.offset, found.around, len(found.changed)) == (offset, around, changed)
    assert found.explained == 1
    np.testing.assert_array_equal(relabelled(candidate, found.changed), LABELS)


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(LABELS, id="the same"),
        pytest.param(np.zeros(60, int), id="one label for all"),
        pytest.param(np.where(LABELS == 1, 0, LABELS), id="two classes in one"),
        pytest.param(np.random.default_rng(0).integers(0, 5, 60), id="chance"),
        pytest.param(np.where(np.arange(60) % 3 == 0, 0, LABELS), id="a threshold"),
    ],
)
def test_what_is_no_other_name_is_no_map(candidate):
    assert label_map(LABELS, candidate) is None


def test_few_rows_name_nothing():
    assert label_map([0, 1, 2], [1, 2, 0]) is None


def test_words_name_some_of_many_pairs():
    labels = np.arange(40) % 20
    shuffled = np.random.default_rng(1).permutation(20)[labels]
    assert label_map(labels, shuffled).says.endswith("more")
    assert "1 as 0" in label_map(LABELS, np.array([1, 0, 2, 3, 4])[LABELS]).says


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_the_match_has_the_largest_sum_of_all(rows):
    table = np.array(rows)
    names = np.arange(4)
    found = match(table, names, names)
    best = max(
        sum(table[at, to] for at, to in enumerate(order)) for order in permutations(range(4))
    )
    assert table[found].sum() == best


@given(st.integers(0, 1000), st.integers(2, 12))
@settings(max_examples=40, deadline=None)
def test_any_exchange_is_undone(seed, classes):
    generator = np.random.default_rng(seed)
    labels = np.arange(classes * 3) % classes
    order = generator.permutation(classes)
    found = label_map(labels, order[labels])
    if np.array_equal(order, np.arange(classes)):
        assert found is None
    else:
        np.testing.assert_array_equal(relabelled(order[labels], found.changed), labels)


def test_the_cross_table_counts():
    table, left, right = cross_table(np.array([0, 0, 3]), np.array([1, 1, 0]))
    np.testing.assert_array_equal(table, [[0, 2], [1, 0]])
    assert (left.tolist(), right.tolist()) == ([0, 3], [0, 1])


def test_a_map_of_few_rows_of_chance_makes_no_other_rows_right():
    generator = np.random.default_rng(0)
    matched, held_out = [], []
    for _ in range(50):
        right, given = generator.integers(10, size=(2, 20))
        found = label_map(right, given, least=0.0)
        matched.append(found.explained if found else 0.0)
        held_out.append(right_once_renamed(right, given, np.arange(20) // 2))
    assert np.mean(matched) > 0.4
    assert np.mean(held_out) < 0.2


def test_a_map_is_found_on_other_rows_also_of_a_single_group():
    right = np.arange(40) % 4
    assert right_once_renamed(right, 3 - right, np.zeros(40)) == pytest.approx(1)
