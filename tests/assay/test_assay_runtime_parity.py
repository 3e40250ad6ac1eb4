"""The first layer that differs, the range of a half, and the format that numbers fit."""

import numpy as np
import pytest

from assay.runtime_parity import (
    Step,
    beyond_half,
    first_difference,
    layer_error,
    narrowed,
    number_format,
    overflow,
    same_places,
)

VALUES = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)


def step(name, error=0.0, largest=(1.0, 1.0), bad=(0, 0), same=True):
    return Step(name=name, error=error, same_places=same, max_abs=largest, not_finite=bad)


def bfloat(values):
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        pytest.param(VALUES, None, id="float32"),
        pytest.param(VALUES.astype(np.float16).astype(np.float32), "float16", id="half"),
        pytest.param(bfloat(VALUES), "bfloat16", id="bfloat16"),
        pytest.param(np.arange(100.0), None, id="whole numbers"),
        pytest.param(np.arange(100.0) / 8, None, id="simple fractions"),
        pytest.param(np.full(50, np.nan), None, id="nothing finite"),
        pytest.param(VALUES * np.float32(1e6), None, id="too large for a half"),
    ],
)
def test_the_format_of_numbers_is_told(values, found):
    assert number_format(values) == found


def test_an_error_is_measured_by_the_layers_size():
    assert layer_error(VALUES, VALUES * 1.01) == pytest.approx(0.01, rel=1e-5)
    assert layer_error(np.zeros(4), np.zeros(4)) == 0
    assert layer_error(np.zeros(4), np.ones(4)) == 1
    assert layer_error(np.full(4, np.nan), np.ones(4)) is None


def test_the_first_difference_is_the_first_beyond_the_tolerance():
    steps = [step("a", 1e-6), step("b", 0.02), step("c", 0.5)]
    assert first_difference(steps, 1e-4).name == "b"
    assert first_difference(steps[:1], 1e-4) is None
    assert first_difference([step("a", bad=(0, 3))], 1e-4).name == "a"
    assert first_difference([step("a", same=False)], 1e-4).name == "a"
    assert first_difference([step("a", None)], 1e-4) is None


def test_what_leaves_the_range_of_a_half_is_an_overflow():
    assert overflow([step("a"), step("b", bad=(0, 2))]).name == "b"
    assert overflow([step("a", largest=(9e4, 65504.0))]).name == "a"
    assert overflow([step("a", bad=(2, 2)), step("b", largest=(9e4, 9e4))]) is None
    assert beyond_half([step("a"), step("b", largest=(9e4, None))]).name == "b"
    assert beyond_half([step("a", largest=(None, 9e4))]) is None


def test_places_that_are_not_finite_are_compared():
    spoilt = VALUES.copy()
    spoilt[0, 0] = np.inf
    assert not same_places(VALUES, spoilt)
    assert same_places(spoilt, spoilt)


def test_a_layer_of_powers_of_two_is_narrow_and_one_that_is_so_on_both_sides_is_not():
    values = np.random.default_rng(0).normal(size=500).astype(np.float32)
    powers = np.exp2(np.round(np.log2(np.abs(values)))).astype(np.float32)
    assert narrowed(values, powers) == "1 bits"
    assert narrowed(powers, powers) is None
    assert narrowed(powers, values) is None
