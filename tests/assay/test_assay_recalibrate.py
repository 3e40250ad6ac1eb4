"""Small maps of outputs: against another library's, and by what they must never do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay import recalibrate as made

LOGITS = np.random.default_rng(3).normal(size=(400, 5)) * 2


def drawn(shares, seed=0):
    generator = np.random.default_rng(seed)
    return np.array([generator.choice(len(row), p=row) for row in shares])


@settings(deadline=None)  # the first call imports the other library
@given(st.integers(2, 60), st.integers(0, 1000))
def test_the_rising_map_is_that_of_scikit_learn(rows, seed):
    isotonic = pytest.importorskip("sklearn.isotonic")
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, 12, rows).astype(float), generator.normal(size=rows)
    theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(x, y)
    at = np.linspace(-1, 13, 57)
    np.testing.assert_allclose(made.fit_monotone(x, y)(at), theirs.predict(at), atol=1e-9)


@given(arrays(np.float64, 12, elements=st.floats(-9, 9)), st.integers(0, 99))
def test_a_rising_map_rises_and_keeps_the_mean(x, seed):
    y = np.random.default_rng(seed).normal(size=12)
    found = made.fit_monotone(x, y)(np.sort(x))
    assert (np.diff(found) >= -1e-12).all()
    assert found.mean() == pytest.approx(y.mean())


def test_a_temperature_is_found_again():
    labels = drawn(made.softmax(made.log_shares(LOGITS)))
    found = made.fit_temperature(made.log_shares(3 * LOGITS), labels)
    assert found == pytest.approx(3, rel=0.2)


def test_a_bias_is_found_again_and_an_absent_class_stays_finite():
    shift = np.array([2.0, 0.0, -1.0, -1.0, 0.0])
    labels = drawn(made.softmax(made.log_shares(LOGITS) + shift))
    found = made.fit_bias(made.log_shares(LOGITS), labels)
    assert np.abs(found - shift).max() < 0.6
    few = made.fit_bias(made.log_shares(LOGITS), np.zeros(400, np.int64))
    assert np.isfinite(few).all()


def test_a_prior_is_found_without_a_label():
    generator = np.random.default_rng(0)
    means, trained = np.eye(3) * 2, np.full(3, 1 / 3)
    wanted = np.array([0.7, 0.2, 0.1])
    labels = generator.choice(3, 3000, p=wanted)
    x = generator.normal(size=(3000, 3)) + means[labels]
    logs = np.log(made.softmax(x @ means.T - (means**2).sum(1) / 2))
    assert np.abs(made.fit_prior(logs, trained) - wanted).max() < 0.03


@given(st.permutations(range(6)), st.integers(0, 50))
def test_a_label_map_is_found_again(order, seed):
    generator = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(6), generator.integers(0, 6, 60)])
    answers = np.array(order)[labels]
    found = made.fit_relabel(answers, labels, 6)
    np.testing.assert_array_equal(found[answers], labels)


def test_one_row_decides_however_many_classes_would_rather_stay():
    order = np.roll(np.arange(8), 1)
    labels = np.append(np.arange(8), np.arange(7))
    answers = np.append(order, np.arange(7))  # 8 rows for another map, 7 for the one in use
    np.testing.assert_array_equal(made.fit_relabel(answers, labels, 8)[order], np.arange(8))


def test_no_answer_asks_for_no_new_map():
    assert made.fit_relabel(np.array([0, 0]), np.array([0, 0]), 4).tolist() == [0, 1, 2, 3]


@given(arrays(np.float64, 9, elements=st.sampled_from([0.0, 0.25, 0.5, 0.75])), st.integers(0, 511))
def test_no_threshold_has_fewer_errors(values, bits):
    positive = np.array([bits >> at & 1 for at in range(9)], bool)
    found = made.fit_threshold(values, positive)
    errors = ((values > found) != positive).sum()
    others = [((values > at) != positive).sum() for at in (-1.0, 0.1, 0.3, 0.6, 0.9)]
    assert errors == min(others)
