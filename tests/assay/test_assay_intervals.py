import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from assay.criteria import accuracy
from assay.intervals import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    few_units,
    mcnemar,
    never_certain,
    wilson,
)


@given(st.integers(1, 400), st.data())
def test_wilson_is_scipys(num_rows, data):
    num_correct = data.draw(st.integers(0, num_rows))
    expected = binomtest(num_correct, num_rows).proportion_ci(method="wilson")
    found = wilson(num_correct, num_rows)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("num_correct", "num_rows"),
    [
        pytest.param(0, 0, id="no rows"),
        pytest.param(3, 2, id="more right than rows"),
        pytest.param(-1, 2, id="fewer than none"),
    ],
)
def test_a_share_of_nothing_is_refused(num_correct, num_rows):
    with pytest.raises(ValueError, match="share"):
        wilson(num_correct, num_rows)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(pairs):
    gained = sum(candidate and not reference for reference, candidate in pairs)
    lost = sum(reference and not candidate for reference, candidate in pairs)
    expected = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    found = mcnemar([r for r, _ in pairs], [c for _, c in pairs])
    assert (found.lost, found.gained) == (lost, gained)
    assert found.p_value == pytest.approx(expected, abs=1e-9)


def test_mcnemar_stands_many_rows():
    right = np.zeros(20_000, bool)
    assert mcnemar(right, ~right).p_value == 0.0


def sessions(generator, num_groups=30, rows=20):
    """Rows that share their session's mean: 600 rows, but only 30 independent ones."""
    groups = np.repeat(np.arange(num_groups), rows)
    return generator.normal(size=num_groups)[groups] + 0.1 * generator.normal(
        size=len(groups)
    ), groups


def test_groups_cover_the_mean_where_rows_do_not():
    covered = {"groups": 0, "rows": 0}
    for seed in range(200):
        values, groups = sessions(np.random.default_rng(seed))
        for labels in (groups, None):
            found = bootstrap_mean(values, labels, num_draws=300, seed=seed)
            covered[found.resampled] += found.low <= 0 <= found.high
    assert covered["groups"] >= 182  # of 200 at 95 %
    assert covered["rows"] <= 120


def forms(generator, num_groups, rows=126):
    """Right answers on rows whose group sets their rate; 0.7 on average."""
    groups = np.repeat(np.arange(num_groups), rows)
    return generator.random(len(groups)) < generator.beta(9.5, 4.07, num_groups)[groups], groups


@pytest.mark.parametrize("num_groups", [4, 5, 14])
def test_few_groups_are_covered_too(num_groups):
    """Percentiles alone cover .81, .87 and .92 of the time: with four groups a fifth would miss."""
    covered = {"share": 0, "loss": 0}
    for seed in range(200):
        generator = np.random.default_rng(seed)
        right, groups = forms(generator, num_groups)
        kept, _ = forms(generator, num_groups)
        share = accuracy(right, groups, num_draws=400, seed=seed)
        loss = bootstrap_difference(right, kept, groups, 400, seed)
        covered["share"] += share.low <= 0.7 <= share.high
        covered["loss"] += loss.low <= 0 <= loss.high
    assert min(covered.values()) >= 178, covered
    assert max(covered.values()) <= 199, covered


@given(st.integers(2, 8), st.integers(0, 9))
def test_a_share_stays_a_share(num_groups, seed):
    right, groups = forms(np.random.default_rng(seed), num_groups, rows=6)
    found = accuracy(right, groups, num_draws=50, seed=0)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_more_groups_are_narrower_and_one_is_left_as_it_is():
    factors = [few_units(number) for number in (2, 3, 5, 20, 500)]
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] == pytest.approx(1, abs=0.005)
    assert few_units(1) == 1.0


@pytest.mark.parametrize(
    ("groups", "resampled", "num_units"),
    [
        pytest.param(["a", "a", "b", "b"], "groups", 2, id="two groups"),
        pytest.param([7, 7, 7, 7], "rows", 4, id="one group"),
        pytest.param(None, "rows", 4, id="no groups"),
    ],
)
def test_it_says_what_was_resampled(groups, resampled, num_units):
    found = bootstrap_mean([1, 0, 1, 1], groups)
    assert (found.resampled, found.num_units, found.n) == (resampled, num_units, 4)
    assert found.value == 0.75


def test_row_bootstrap_of_a_share_agrees_with_wilson():
    right = np.arange(400) < 300
    found, expected = bootstrap_mean(right, None), wilson(300, 400)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_pairs_stay_pairs():
    reference = np.random.default_rng(0).normal(scale=100, size=50)
    found = bootstrap_difference(reference, reference + 0.25, np.arange(50) // 5)
    assert (found.value, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))


def test_a_seed_repeats_and_blocks_do_not_change_the_draws(monkeypatch):
    values, groups = sessions(np.random.default_rng(0))
    whole = bootstrap_mean(values, groups, seed=3)
    monkeypatch.setattr("assay.intervals.BLOCK_ENTRIES", 1000)
    assert bootstrap_mean(values, groups, seed=3) == whole
    assert bootstrap_mean(values, groups, seed=4) != whole


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        pytest.param([], [], id="no rows"),
        pytest.param([1.0, np.nan], None, id="nan"),
        pytest.param([1.0, 2.0], ["a"], id="a group missing"),
    ],
)
def test_a_mean_that_cannot_be_bounded_is_refused(values, groups):
    with pytest.raises(ValueError, match=r"one (a|group)"):
        bootstrap_mean(values, groups)


@pytest.mark.parametrize("low", [1.0, 1 + 2**-52, 1 - 2**-53])
def test_rows_that_are_all_alike_are_never_certain_whatever_a_sum_rounds_to(low):
    found = never_certain(Interval(value=1 - 2**-53, low=low, high=1.0, n=3))
    assert found.low == pytest.approx(0)
    assert found.high <= 1
