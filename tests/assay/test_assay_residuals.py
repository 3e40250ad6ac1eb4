"""Misses of numbers, against scikit-learn and numpy."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from assay.residuals import by_group, residuals


def planted(rows=400, seed=0):
    generator = np.random.default_rng(seed)
    predicted = generator.normal(10, 3, rows)
    return predicted, 2 + 0.7 * predicted + generator.normal(0, 1, rows)


def test_the_figures_are_those_of_sklearn():
    predicted, true = planted()
    found = residuals(predicted, true, None, num_draws=200)
    assert found.mae.value == pytest.approx(mean_absolute_error(true, predicted))
    assert found.rmse.value == pytest.approx(root_mean_squared_error(true, predicted))
    assert found.r2.value == pytest.approx(r2_score(true, predicted))
    slope, intercept = np.polyfit(predicted, true, 1)
    assert (found.slope.value, found.intercept) == pytest.approx((slope, intercept))
    for one in (found.mae, found.rmse, found.r2, found.bias, found.slope):
        assert one.low <= one.value <= one.high


def test_a_slope_that_is_planted_is_covered():
    inside = 0
    for seed in range(60):
        slope = residuals(*planted(120, seed), None, num_draws=300).slope
        inside += slope.low <= 0.7 <= slope.high
    assert inside >= 51


def test_constants_have_no_slope_and_no_variance():
    found = residuals(np.full(5, 2.0), np.full(5, 3.0), None, num_draws=20)
    assert (found.r2, found.slope, found.intercept) == (None, None, None)
    assert found.bias.value == -1


def test_targets_far_from_zero_keep_their_digits():
    predicted, true = planted()
    near, far = (residuals(predicted + by, true + by, None, num_draws=50) for by in (0, 1e9))
    for name in ("rmse", "r2", "slope"):
        ours, theirs = getattr(near, name), getattr(far, name)
        assert (theirs.low, theirs.value, theirs.high) == pytest.approx(
            (ours.low, ours.value, ours.high), rel=1e-4
        )


def test_groups_are_told_the_worst_first():
    predicted, true = planted(90)
    groups = np.arange(90) % 3
    predicted[groups == 2] += 9
    found = by_group(predicted, true, groups)
    assert found[0].group == "2"
    miss = (predicted - true)[groups == 2]
    assert (found[0].bias, found[0].spread, found[0].n) == pytest.approx(
        (miss.mean(), miss.std(), 30)
    )
