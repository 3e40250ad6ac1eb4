"""What differs is found by whole groups; what does not is left alone."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ks_2samp, mannwhitneyu

from assay.contrast import contrast
from assay.multiplicity import benjamini_yekutieli


def sets(shift=0.0, rows=120, seed=0, spread=1.0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=rows), generator.normal(shift, spread, rows)


def groups(rows=120, size=6):
    return np.arange(rows) // size


def test_effect_and_distance_are_those_of_scipy():
    sim, real = sets(0.5)
    found = contrast("x", sim, real, groups(), groups())
    assert found.distance == pytest.approx(ks_2samp(sim, real).statistic)
    above = mannwhitneyu(real, sim).statistic / (120 * 120)
    assert found.effect.value == pytest.approx(above)
    assert found.effect.low <= above <= found.effect.high
    assert found.effect.groups == 20


def test_ties_count_half():
    found = contrast("x", np.array([1, 1, 2]), np.array([1, 2, 2]), np.arange(3), np.arange(3))
    above = mannwhitneyu([1, 2, 2], [1, 1, 2]).statistic / 9
    assert found.effect.value == pytest.approx(above)


def test_a_shift_is_found_and_a_spread_too():
    shifted = contrast("x", *sets(1.0), groups(), groups())
    spread = contrast("x", *sets(spread=3.0), groups(), groups())
    assert shifted.p_value < 0.01
    assert shifted.effect.low > 0.5
    assert spread.p_value < 0.01
    assert spread.effect.low < 0.5 < spread.effect.high


def test_rows_of_one_session_do_not_count_as_many():
    """Each group has a level of its own: no domain differs, though rows by themselves would."""
    alarms = by_rows = 0
    for seed in range(100):
        generator = np.random.default_rng(seed)
        levels = np.repeat(generator.normal(0, 3, 20), 12)
        values = levels + generator.normal(size=240)
        sim, real = values[:120], values[120:]
        alarms += (
            contrast(
                "x", sim, real, groups(size=12), groups(size=12), num_permutations=199, num_draws=20
            ).p_value
            <= 0.05
        )
        by_rows += ks_2samp(sim, real).pvalue <= 0.05
    assert alarms <= 12
    assert by_rows > 40


def test_the_interval_covers_the_effect_of_grouped_rows():
    inside = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        levels = np.repeat(generator.normal(0, 1, 24), 10)
        values = levels + generator.normal(size=240)
        effect = contrast(
            "x", values[:120], values[120:], groups(size=10), groups(size=10),
            num_permutations=2, num_draws=300,
        ).effect  # fmt: skip
        inside += effect.low <= 0.5 <= effect.high
    assert inside >= 182


def test_words_are_compared_by_their_shares():
    sim, real = np.array(["a"] * 60 + ["b"] * 60), np.array(["a"] * 120)
    found = contrast("mode", sim, real, np.arange(120) % 20, groups())
    assert found.distance == 0.5
    assert (found.effect, found.mean_sim) == (None, None)
    assert found.p_value < 0.01


def test_few_groups_say_how_small_p_can_be():
    found = contrast("x", *sets(5.0), groups(size=60), groups(size=60))
    assert found.p_value >= found.smallest_p_value > 0.05
    alone = contrast("x", *sets(5.0), np.zeros(120), groups())
    assert (alone.p_value, alone.smallest_p_value) == (1.0, 1.0)


def test_what_is_not_finite_is_left_out():
    sim, real = sets()
    sim[:3] = np.nan
    assert contrast("x", sim, real, groups(), groups()).num_sim == 117
    assert contrast("x", sim * np.nan, real, groups(), groups()) is None


def test_false_discoveries_are_controlled_as_by_scipy():
    p_values = np.random.default_rng(0).random(30) ** 2
    found = benjamini_yekutieli(p_values)
    np.testing.assert_allclose(found, false_discovery_control(p_values, method="by"))
