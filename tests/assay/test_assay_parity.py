import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.parity import compare

NAN, INF = np.nan, np.inf
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3)


@pytest.mark.parametrize(
    ("reference", "candidate", "equal", "max_abs", "num_nan", "num_inf"),
    [
        pytest.param([1.0, 2.0], [1.0, 2.0], True, 0, 0, 0, id="the same"),
        pytest.param([1.0], [1.05], True, 0.05, 0, 0, id="within tolerance"),
        pytest.param([1.0], [1.5], False, 0.5, 0, 0, id="beyond tolerance"),
        pytest.param([NAN, 1.0], [NAN, 1.0], True, 0, 0, 0, id="nan against nan"),
        pytest.param([NAN, 1.0], [0.0, 1.0], False, None, 1, 0, id="nan against a number"),
        pytest.param([INF, 1.0], [INF, 1.0], True, 0, 0, 0, id="infinity against infinity"),
        pytest.param([INF, 1.0], [-INF, 1.0], False, None, 0, 1, id="opposite infinities"),
        pytest.param([INF], [3.0], False, None, 0, 1, id="infinity against a number"),
        pytest.param([INF], [NAN], False, None, 1, 0, id="infinity against nan"),
        pytest.param([1e308], [-1e308], False, None, 0, 1, id="a gap beyond a double"),
        pytest.param([True], [False], False, 1, 0, 0, id="booleans"),
    ],
)
def test_values(  # noqa: PLR0917
    reference, candidate, equal, max_abs, num_nan, num_inf
):
    found = compare(np.array(reference), np.array(candidate), atol=0.1)
    assert (found.equal, found.num_nan_mismatch, found.num_inf_mismatch) == (
        equal,
        num_nan,
        num_inf,
    )
    assert found.max_abs == (None if max_abs is None else pytest.approx(max_abs))


@given(hnp.arrays(np.uint8, SHAPES), st.data())
def test_bytes_do_not_wrap(reference, data):
    candidate = data.draw(hnp.arrays(np.uint8, reference.shape))
    found = compare(reference, candidate, atol=0)
    gaps = np.abs(reference.astype(int) - candidate.astype(int))
    assert (found.max_abs, found.mean_abs) == (gaps.max(), pytest.approx(gaps.mean()))
    assert found.share_differing == (gaps > 0).mean()
    rows = gaps.reshape(len(gaps), -1).max(axis=1)
    expected = [int(r) for r in np.argsort(-rows, kind="stable") if rows[r]][:6]
    assert list(found.worst_rows) == expected


@given(hnp.arrays(np.float64, SHAPES))
def test_an_array_equals_itself(values):
    found = compare(values, values.copy(), atol=0)
    assert found.equal
    assert found.worst_rows == ()


@given(hnp.arrays(np.float32, (17, 3), elements=st.floats(-9, 9, width=32)), st.integers(1, 60))
def test_blocks_do_not_change_the_finding(candidate, block):
    reference = np.linspace(-9, 9, 51).reshape(17, 3)
    whole = compare(reference, candidate, atol=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.parity.BLOCK_VALUES", block)
        parts = compare(reference, candidate, atol=1)
    assert parts.mean_abs == pytest.approx(whole.mean_abs)
    assert (parts.worst_rows, parts.max_abs) == (whole.worst_rows, whole.max_abs)


def test_rtol_is_of_the_reference():
    assert compare(np.array([1000.0]), np.array([1009.0]), atol=0, rtol=0.01).equal
    assert not compare(np.array([10.0]), np.array([1.0]), atol=0, rtol=0.01).equal


def test_other_shapes_have_no_figures_but_are_named():
    found = compare(np.zeros((2, 8, 8, 3), np.uint8), np.zeros((2, 3, 8, 8), np.float32), atol=1)
    assert (found.equal, found.max_abs, found.mean_abs, found.share_differing) == (False,) + (
        None,
    ) * 3
    assert (found.shape_candidate, found.dtype_candidate) == ((2, 3, 8, 8), "float32")


def test_another_type_of_the_same_values_is_equal_and_named():
    found = compare(np.array([1, 2], np.uint8), np.array([1.0, 2.0]), atol=0)
    assert (found.equal, found.dtype_reference, found.dtype_candidate) == (True, "uint8", "float64")


def test_no_rows_is_not_agreement():
    with pytest.raises(ValueError, match="needs rows"):
        compare(np.zeros((0, 2)), np.zeros((0, 2)), atol=0)
