"""A gain's interval and its p are of one mind, and chance is not called a gain."""

import numpy as np
import pytest

from assay.abstaining import fit_threshold, served
from assay.gains import group_losses, paired_gain


@pytest.mark.parametrize("seed", range(12))
def test_the_interval_holds_zero_just_where_p_is_large(seed):
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(10), 20)
    before = generator.random(200) < 0.5
    after = np.where(generator.random(200) < 0.3, generator.random(200) < 0.62, before)
    found = paired_gain(before, after, groups)
    assert (found.interval.low <= 0 <= found.interval.high) == (found.p_value >= 0.05)


def test_chance_is_seldom_called_a_gain():
    generator = np.random.default_rng(5)
    false = 0
    for _ in range(400):
        rates = np.repeat(generator.uniform(-0.3, 0.3, 8), 25)
        after = generator.random(200) < 0.5 + rates
        before = generator.random(200) < 0.5
        false += paired_gain(before, after, np.repeat(np.arange(8), 25)).p_value < 0.05
    assert false / 400 < 0.09


def test_rows_that_are_all_alike_are_not_certain():
    same = paired_gain([1, 1, 1, 1], [1, 1, 1, 1], None)
    assert same.p_value == 1
    assert same.interval.low < 0 < same.interval.high
    better = paired_gain([0] * 4, [1] * 4, None)
    assert better.p_value == pytest.approx(0.125)


def test_groups_whose_means_are_equal_but_for_rounding_are_no_certain_gain():
    after = np.array([1, 0, 0] * 4)
    found = paired_gain(np.zeros(12), after, np.repeat([0, 1], 6))
    assert found.p_value == pytest.approx(0.5)
    assert found.interval.low < found.interval.value < found.interval.high


def test_a_group_that_loses_is_named_and_a_small_one_is_told():
    groups = np.array(["a"] * 30 + ["b"] * 30 + ["c"] * 3)
    after = np.array([1] * 30 + [0] * 25 + [1] * 5 + [0] * 3)
    tested, few = group_losses(np.ones(63), after, groups, margin=0.05, min_rows=10)
    assert few == ["c"]
    assert {one.group: one.p_value < 0.01 for one in tested} == {"a": False, "b": True}


def test_a_threshold_that_nothing_reaches_is_none():
    assert fit_threshold(np.linspace(0, 1, 50), np.zeros(50, bool), 0.5) is None
    assert fit_threshold(np.full(50, 0.7), np.ones(50, bool), 0.9) == pytest.approx(0.7)


def test_what_is_left_and_what_is_answered_add_up():
    generator = np.random.default_rng(0)
    correct, kept = generator.random(200) < 0.7, generator.random(200) < 0.4
    found = served(correct, kept, np.arange(200) // 20, num_draws=200, seed=0)
    assert found.coverage.value + found.left.value == pytest.approx(1)
    assert found.answered is not None
    assert found.answered.value == pytest.approx(correct[kept].mean())
    nothing = served(correct, np.zeros(200, bool), None, num_draws=50, seed=0)
    assert nothing.answered is None
