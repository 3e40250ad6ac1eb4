"""How many labels would decide: the guess holds where fresh samples are drawn of that size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.criteria import accuracy, at_least, drop
from assay.intervals import Interval, wilson
from assay.power import Clusters, clusters_of, rows_to_decide, rows_to_reach, rows_to_see


@pytest.mark.parametrize(("truth", "threshold"), [(0.97, 0.9), (0.95, 0.9), (0.8, 0.9), (0.6, 0.5)])
def test_so_many_rows_show_on_which_side_a_share_lies(truth, threshold):
    needed = rows_to_reach(truth, threshold, None).rows
    generator = np.random.default_rng(0)
    counts = generator.binomial(needed, truth, size=2000)
    decided = np.array([at_least(wilson(int(c), needed), threshold, 1) for c in counts])
    told = np.mean(decided == (truth > threshold))
    assert 0.74 <= told <= 0.88  # wanted: 0.8


def test_so_many_rows_show_a_drop():
    before = wilson(970, 1000)
    needed = rows_to_see(0.05, before, None).rows
    generator = np.random.default_rng(1)
    counts = generator.binomial(needed, 0.92, size=1000)
    sims = generator.binomial(1000, 0.97, size=1000)
    seen = [
        drop(wilson(int(s), 1000), wilson(int(c), needed)).low > 0
        for s, c in zip(sims, counts, strict=True)
    ]
    assert 0.75 <= np.mean(seen) <= 0.95  # wanted: 0.8; Wilson's upper bounds are the nearer ones


def test_groups_that_rise_and_fall_together_need_more():
    """Rates of groups from a beta of ICC .2: rows alone would be far too few."""
    truth, threshold, size, icc = 0.95, 0.85, 20, 0.2
    clusters = Clusters(size=size, icc=icc)
    needed = rows_to_reach(truth, threshold, None, clusters)
    assert needed.rows == needed.groups * size
    assert needed.rows > 3 * rows_to_reach(truth, threshold, None).rows
    told = 0
    concentration = 1 / icc - 1
    for seed in range(150):
        generator = np.random.default_rng(seed)
        rates = generator.beta(truth * concentration, (1 - truth) * concentration, needed.groups)
        groups = np.repeat(np.arange(needed.groups), size)
        right = generator.random(len(groups)) < rates[groups]
        told += at_least(accuracy(right, groups, num_draws=300, seed=seed), threshold, 1) is True
    assert told >= 100  # of 150; wanted: 120


@given(st.floats(0, 1), st.integers(2, 12), st.integers(3, 40))
def test_alikeness_is_between_none_and_all(icc, size, num_groups):
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(num_groups), size)
    shared = generator.normal(size=num_groups)[groups]
    values = np.sqrt(icc) * shared + np.sqrt(1 - icc) * generator.normal(size=len(groups))
    found = clusters_of(values, groups)
    assert 0 <= found.icc <= 1
    assert found.size == size
    assert 1 <= found.design_effect <= size


def test_alikeness_is_found():
    generator = np.random.default_rng(3)
    groups = np.repeat(np.arange(400), 8)
    values = generator.normal(size=400)[groups] + 2 * generator.normal(size=3200)
    assert clusters_of(values, groups).icc == pytest.approx(0.2, abs=0.04)


@pytest.mark.parametrize(
    "groups", [None, ["a"] * 4, list("abcd")], ids=["none", "one", "each its own"]
)
def test_without_groups_rows_count_one_by_one(groups):
    assert clusters_of([1, 0, 1, 1], groups) is None
    assert rows_to_reach(0.97, 0.9, None, None).groups is None


def test_what_is_bounded_by_groups_is_decided_by_groups():
    found = Interval(value=0.92, low=0.86, high=0.98, n=300, resampled="groups", num_units=10)
    needed = rows_to_decide(found, 0.9)
    assert (needed.rows, needed.groups) == (2700, 90)
    assert str(needed) == "2700 rows in 90 groups"


def test_what_no_number_of_rows_can_show_has_none():
    assert rows_to_reach(0.9, 0.9, None) is None
    assert rows_to_see(0.01, wilson(9, 10), None) is None
    assert rows_to_decide(wilson(90, 100), 0.9) is None
