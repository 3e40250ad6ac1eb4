import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ks_2samp, kstwo

from assay.ks import ks_distances, ks_p_values

FINITE = st.floats(-(2.0**99), 2.0**99, width=32)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int8, np.int64, np.bool_])
def test_distances_are_scipys(kind):
    generator = np.random.default_rng(0)
    left = (generator.normal(size=(70, 6)) * 3).astype(kind)
    right = (generator.normal(size=(110, 6)) * 4 + 1).astype(kind)
    expected = [
        ks_2samp(left[:, at].astype(float), right[:, at].astype(float)).statistic for at in range(6)
    ]
    assert ks_distances(left, right) == pytest.approx(expected, abs=1e-15)


@given(
    arrays(np.float32, st.integers(1, 12), elements=FINITE),
    arrays(np.float32, st.integers(1, 12), elements=FINITE),
)
def test_any_numbers_with_any_ties_follow_the_definition(left, right):
    points = np.concatenate([left, right])[:, None]
    expected = np.abs((left <= points).mean(axis=1) - (right <= points).mean(axis=1)).max()
    assert ks_distances(left, right) == pytest.approx(expected, abs=1e-12)


def test_both_zeros_are_one_value():
    assert ks_distances([0.0, 0.0], [-0.0, -0.0]) == 0.0


def test_p_values_are_near_scipys():
    distances = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.9])
    expected = kstwo.sf(distances, round(400 * 300 / 700))
    assert ks_p_values(distances, 400, 300) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(np.zeros((3, 2)), np.zeros((3, 4)), id="columns differ"),
        pytest.param(np.zeros((0, 2)), np.zeros((3, 2)), id="no row"),
        pytest.param([1.0, np.nan], [1.0], id="nan"),
    ],
)
def test_what_has_no_distribution_is_refused(left, right):
    with pytest.raises(ValueError, match=r"columns|rows|finite"):
        ks_distances(left, right)
