"""A threshold is where the label changes; a softmax more or less moves it as calculated."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.operating_point import Cut, cut, doubled, logistic, logit, missing

GRID = np.linspace(-12, 12, 4801)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        pytest.param([0, 0, 1, 1], Cut(2, 3), id="between"),
        pytest.param([0, 0, 0, 0], Cut(4, inf), id="never"),
        pytest.param([1, 1, 1, 1], Cut(-inf, 1), id="always"),
        pytest.param([0, 1, 0, 1], None, id="no threshold"),
        pytest.param([1, 1, 0, 0], None, id="falls"),
    ],
)
def test_a_cut_is_found(labels, found):
    assert cut([1, 2, 3, 4], np.array(labels) == 1) == found


@given(st.floats(0.05, 0.95))
def test_two_softmaxes_move_the_threshold_of_two_classes(threshold):
    once = cut(GRID, logistic_of(GRID) > threshold)
    twice = cut(GRID, logistic_of(2 * logistic_of(GRID) - 1) > threshold)
    low, high = doubled(once.low, 2), doubled(once.high, 2)
    assert twice.high >= low - 0.005
    assert twice.low <= high + 0.005


@given(st.floats(0.55, 0.7))
def test_two_logistic_functions_move_the_threshold_of_one_output(threshold):
    once = cut(GRID, logistic_of(GRID) > threshold)
    twice = cut(GRID, logistic_of(logistic_of(GRID)) > threshold)
    assert twice.high >= doubled(once.low, 1) - 0.005
    assert twice.low <= doubled(once.high, 1) + 0.005


@given(st.floats(0.05, 0.95))
def test_a_missing_softmax_compares_logits_with_a_share(threshold):
    once = cut(GRID, logistic_of(GRID) > threshold)
    without = cut(GRID, threshold < GRID)
    assert without.middle == pytest.approx(missing(once.middle), abs=0.01)


def logistic_of(values):
    return 0.5 * (1 + np.tanh(0.5 * values))


def test_logit_and_logistic_undo_each_other():
    assert logistic(logit(0.3)) == pytest.approx(0.3)
    assert (logit(0.0), logit(1.0), logit(1.2)) == (-inf, inf, inf)


@pytest.mark.parametrize("width", [3, 4, 10])
@pytest.mark.parametrize("least", [0.35, 0.4, 0.45])
def test_two_softmaxes_move_the_threshold_of_many_classes(width, least):
    grid = np.linspace(-20, 20, 8001)

    def share(shown, others):
        return np.exp(shown) / (np.exp(shown) + (width - 1) * np.exp(others))

    first = share(grid, 0 * grid)
    once = cut(grid, first >= least)
    twice = cut(grid, share(first, (1 - first) / (width - 1)) >= least)
    assert twice.high >= doubled(once.low, width) - 0.01
    assert twice.low <= doubled(once.high, width) + 0.01
