import numpy as np
import pytest
from scipy.linalg import sqrtm

from assay.frechet import frechet_distance


def by_the_formula(first, second):
    sigmas = [np.cov(side, rowvar=False) for side in (first, second)]
    shift = first.mean(axis=0) - second.mean(axis=0)
    root = sqrtm(sigmas[0] @ sigmas[1]).real
    return shift @ shift + np.trace(sigmas[0]) + np.trace(sigmas[1]) - 2 * np.trace(root)


@pytest.mark.parametrize(
    ("num_first", "num_second"),
    [
        pytest.param(60, 90, id="more rows than features"),
        pytest.param(60, 12, id="more on one side"),
        pytest.param(21, 20, id="as many"),
    ],
)
def test_it_is_the_formula_with_a_matrix_root(num_first, num_second):
    generator = np.random.default_rng(0)
    mixing = generator.normal(size=(20, 20))
    first = generator.normal(size=(num_first, 20)) @ mixing
    second = 1.5 + generator.normal(size=(num_second, 20))
    # The root of a product without full rank is itself off by the root of the rounding.
    expected = by_the_formula(first, second)
    assert frechet_distance(first, second) == pytest.approx(expected, rel=1e-5)
    assert frechet_distance(second, first) == pytest.approx(expected, rel=1e-5)


def test_fewer_rows_than_features_are_those_of_the_subspace_that_they_span():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 9, 4))
    turned, _ = np.linalg.qr(generator.normal(size=(50, 4)))
    expected = frechet_distance(first, second)
    assert frechet_distance(first @ turned.T, second @ turned.T) == pytest.approx(expected)


def test_a_shift_is_its_square_and_a_set_is_no_distance_from_itself():
    rows = np.random.default_rng(0).normal(size=(40, 100))
    assert frechet_distance(rows, rows) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(rows, rows + 2) == pytest.approx(400)


def test_it_is_far_from_nothing_between_two_draws_of_few_rows():
    """Why it is no evidence: the docstring's warning holds."""
    first, second = np.random.default_rng(0).normal(size=(2, 200, 2048))
    assert frechet_distance(first, second) > 2500


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(np.zeros((3, 2)), np.zeros((3, 4)), id="widths differ"),
        pytest.param(np.zeros((1, 2)), np.zeros((3, 2)), id="one row"),
        pytest.param(np.full((3, 2), np.inf), np.zeros((3, 2)), id="infinity"),
    ],
)
def test_what_has_no_covariance_is_refused(first, second):
    with pytest.raises(ValueError, match=r"widths|two rows|finite"):
        frechet_distance(first, second)
