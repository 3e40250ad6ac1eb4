"""The interval of a mean over fits and rows covers what it should, and moves as it must."""

import numpy as np
import pytest

from assay.crossed import crossed_mean


def test_it_covers_the_truth_where_fits_and_grouped_rows_vary():
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        fits = generator.normal(0, 0.3, (5, 1))
        groups = np.repeat(np.arange(20), 5)
        rows = generator.normal(0, 0.5, 20)[groups] + generator.normal(0, 0.5, 100)
        found = crossed_mean(fits + rows + generator.normal(0, 0.2, (5, 100)), groups)
        covered.append(found.low <= 0 <= found.high)
    assert 0.92 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize("num_groups", [4, 5, 14])
def test_it_covers_the_truth_over_few_groups(num_groups):
    generator = np.random.default_rng(1)
    groups = np.repeat(np.arange(num_groups), 126)
    covered = 0
    for _ in range(200):
        rates = generator.beta(9.5, 4.07, num_groups)[groups] + generator.normal(0, 0.02, (5, 1))
        found = crossed_mean(generator.random((5, len(groups))) < rates, groups)
        covered += found.low <= 0.7 <= found.high
    assert 182 <= covered <= 199


def test_it_says_over_how_many_groups():
    values = np.random.default_rng(0).normal(size=(2, 6))
    assert crossed_mean(values, list("aabbcc")).groups == 3
    assert crossed_mean(values, list("aaaaaa")).groups is None
    assert crossed_mean(values).groups is None


def test_with_one_fit_it_is_the_interval_over_rows():
    values = np.random.default_rng(0).normal(size=(1, 50))
    found = crossed_mean(values)
    half = 2.009575 * values.std(ddof=1) / np.sqrt(50)  # t with 49 degrees of freedom
    assert found.high - found.value == pytest.approx(half)


def test_values_that_never_vary_leave_no_doubt():
    found = crossed_mean(np.ones((3, 4)), ["a", "a", "b", "b"])
    assert (found.value, found.low, found.high, found.n) == (1.0, 1.0, 1.0, 4)


@pytest.mark.parametrize("values", [np.ones(3), np.ones((0, 3)), np.full((2, 2), np.nan)])
def test_what_is_no_table_of_numbers_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        crossed_mean(values)


def test_groups_must_match_the_rows():
    with pytest.raises(ValueError, match="one group a row"):
        crossed_mean(np.ones((2, 3)), [1, 2])
