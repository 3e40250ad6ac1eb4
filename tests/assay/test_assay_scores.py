"""Every metric is the mean of its rows' scores: other libraries compute the same number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score

from assay.scores import level, scores, spread, within

NUMBERS = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


@st.composite
def pairs(draw, elements, least=2):
    size = draw(st.integers(least, 40))
    both = st.lists(elements, min_size=size, max_size=size)
    return draw(both), draw(both)


@given(pairs(NUMBERS))
def test_r2_is_scikit_learns(given_wanted):
    answers, wanted = given_wanted
    assert scores("r2", answers, wanted).mean() == pytest.approx(
        r2_score(wanted, answers), rel=1e-6, abs=1e-9
    )


@given(pairs(NUMBERS, least=1))
def test_the_mean_absolute_error_is_scikit_learns(given_wanted):
    answers, wanted = given_wanted
    found = -scores("mae", answers, wanted).mean()
    assert found == pytest.approx(mean_absolute_error(wanted, answers))


@given(pairs(st.integers(0, 4), least=1))
def test_accuracy_is_scikit_learns(given_wanted):
    answers, wanted = given_wanted
    found = scores("accuracy", answers, wanted).mean()
    assert found == pytest.approx(accuracy_score(wanted, answers))


@given(st.lists(NUMBERS, min_size=2, max_size=40, unique=True))
def test_no_answer_knows_as_much_as_the_best_constant(wanted):
    assert scores("r2", None, wanted).mean() == pytest.approx(0, abs=1e-6)
    assert -scores("mae", None, wanted).mean() == pytest.approx(spread("mae", wanted))
    nothing = [np.nan] * len(wanted)
    assert scores("mae", nothing, wanted).tolist() == scores("mae", None, wanted).tolist()
    assert scores("accuracy", None, [0, 1]).tolist() == [0, 0]


@pytest.mark.parametrize(("given_", "r2"), [([2.0, 2.0], 1.0), ([2.0, 3.0], 0.0)])
def test_equal_targets_have_no_variance_and_still_a_score(given_, r2):
    assert scores("r2", given_, [2.0, 2.0]).mean() == r2
    assert level("r2", scores("r2", given_, [2.0, 2.0]), None, num_draws=50, seed=0).value == r2


def test_agreement_of_numbers_has_a_tolerance():
    assert within([1.0, 2.2, np.nan], [1.1, 2.0, 0.0], 0.11).tolist() == [1.0, 0.0, 0.0]
    assert within(None, [1.0, 2.0], 0.1).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("metric", ["r2", "mae"])
def test_intervals_of_errors_cover_what_more_rows_would_show(metric):
    """R2 keeps the variance of the targets as found, which a fresh sample would bring anew."""
    covered, slope = 0, 0.8
    truth = {"r2": 0.64, "mae": -0.6 * np.sqrt(2 / np.pi)}[metric]
    for seed in range(200):
        generator = np.random.default_rng(seed)
        x = generator.normal(size=300)
        y = slope * x + 0.6 * generator.normal(size=300)
        found = level(metric, scores(metric, slope * x, y), None, num_draws=400, seed=seed)
        covered += found.low <= truth <= found.high
    assert covered >= 180  # of 200 at 95 %


def test_only_shares_are_cut_at_their_ends():
    bad = level("r2", np.array([-9.0, -30.0, 0.5]), None, num_draws=100, seed=0)
    assert bad.low < -1
    assert level("r2", np.array([1.0, 1.0, 0.9]), None, num_draws=100, seed=0).high <= 1
    assert level("mae", np.array([-0.1, -3.0]), None, num_draws=100, seed=0).high <= 0
