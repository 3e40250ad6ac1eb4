import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.array_statistics import row_statistics


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3), elements=st.floats(-1e6, 1e6))
)
def test_finite_rows_are_numpys(block):
    found, flat = row_statistics(block), block.reshape(len(block), -1)
    for name in ("mean", "std", "min", "max"):
        assert found[name] == pytest.approx(getattr(flat, name)(axis=1), abs=1e-6)
    assert (found["finite_share"] == 1).all()
    assert found["zero_share"] == pytest.approx((flat == 0).mean(axis=1))


@pytest.mark.parametrize(
    ("row", "mean", "low", "high", "finite_share", "zero_share"),
    [
        pytest.param(np.array([250, 250], np.uint8), 250, 250, 250, 1, 0, id="bytes do not wrap"),
        pytest.param(np.array([True, False]), 0.5, 0, 1, 1, 0.5, id="booleans"),
        pytest.param(np.array([np.nan, 3.0]), 3, 3, 3, 0.5, 0, id="nan is left out"),
        pytest.param(np.array([np.inf, -np.inf, 0, 2]), 1, 0, 2, 0.5, 0.25, id="infinities too"),
        pytest.param(np.array([np.nan]), np.nan, np.nan, np.nan, 0, 0, id="nothing finite"),
        pytest.param(np.float16([60000, 60000]), 60000, 60000, 60000, 1, 0, id="halves"),
    ],
)
def test_a_row_of_any_type(  # noqa: PLR0917
    row, mean, low, high, finite_share, zero_share
):
    found = row_statistics(row[None])
    expected = [mean, low, high, finite_share, zero_share]
    names = ["mean", "min", "max", "finite_share", "zero_share"]
    assert np.array_equal([found[n][0] for n in names], expected, equal_nan=True)


def test_blocks_join_to_the_whole():
    whole = np.random.default_rng(0).normal(size=(10, 3, 2))
    parts = [row_statistics(whole[:4]), row_statistics(whole[4:])]
    for name, expected in row_statistics(whole).items():
        assert np.array_equal(np.concatenate([part[name] for part in parts]), expected)


def test_one_value_a_row_and_no_rows():
    assert row_statistics(np.array([1.0, 2.0]))["mean"].tolist() == [1.0, 2.0]
    assert row_statistics(np.zeros((0, 3)))["mean"].shape == (0,)


def test_words_are_refused():
    with pytest.raises(ValueError, match="numbers"):
        row_statistics(np.array(["a"]))
