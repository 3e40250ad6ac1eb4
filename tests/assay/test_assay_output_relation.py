"""Each form of outputs is named whatever the outputs are; noise and other models have no form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.special import softmax as oracle

from assay.explain.box_format import WAYS
from assay.output_relation import apart, is_probability, relation, sigmoid, softmax


def logits(seed=0, rows=60, columns=5):
    return np.random.default_rng(seed).normal(size=(rows, columns)) * 3


def boxes(seed=0):
    generator = np.random.default_rng(seed)
    corner = generator.uniform(0, 50, (40, 2, 2))
    return np.concatenate([corner, corner + generator.uniform(2, 40, (40, 2, 2))], axis=2).reshape(
        40, 8
    )


ORDER = [2, 0, 1, 4, 3]
FORMS = {
    "softmax of logits": ("softmax_doubled", logits(), softmax(logits())),
    "softmax of shares": ("softmax_doubled", softmax(logits()), softmax(softmax(logits()))),
    "shares to logits": ("softmax_missing", softmax(logits()), logits()),
    "shares to their logarithms": ("softmax_missing", softmax(logits()), np.log(softmax(logits()))),
    "one share more": ("softmax_doubled", logits(columns=1), sigmoid(logits(columns=1))),
    "one share less": ("softmax_missing", sigmoid(logits(columns=1)), logits(columns=1)),
    "a temperature": ("temperature", logits(), logits() / 2.5),
    "a temperature in shares": ("temperature", softmax(logits()), softmax(logits() / 1.7)),
    "log-softmax": ("row_shift", logits(), np.log(softmax(logits()))),
    "another order": ("permuted", logits(), logits()[:, ORDER]),
    "shares in another order": ("permuted", softmax(logits()), softmax(logits())[:, ORDER]),
    "equal": ("equal", logits(), logits() * (1 + 1e-6)),
    "halves": ("close", logits(), logits().astype(np.float16).astype(float) * 1.003 + 0.001),
    "another model": ("unknown", logits(), logits(1)),
    "other classes": ("unlike", logits(), logits(columns=4)),
    "nothing finite": ("unknown", logits(), logits() * np.nan),
    "another unit": ("scaled", logits(columns=1), logits(columns=1) * 1000 + 3),
    "a constant": ("unknown", logits(columns=1), np.ones_like(logits(columns=1))),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_named(name):
    kind, reference, candidate = FORMS[name]
    assert relation(reference, candidate).name == kind


@pytest.mark.parametrize("had", WAYS)
@pytest.mark.parametrize("got", WAYS)
def test_boxes_are_told_by_their_format(had, got):
    corners = boxes().reshape(-1, 4)
    left = (corners @ WAYS[had].T).reshape(40, 8)
    right = (corners @ WAYS[got].T).reshape(40, 8)
    found = relation(left, right, boxes=True)
    assert found.name == (
        "equal" if had == got else "box_format" if found.parameters else "permuted"
    )
    if had != got:
        assert found.error < 1e-9


def test_the_order_of_columns_is_told():
    order = relation(logits(), logits()[:, ORDER]).parameters["order"]
    np.testing.assert_array_equal(logits()[:, ORDER][:, order], logits())


@given(st.integers(0, 10_000), st.floats(0.2, 5).filter(lambda t: abs(t - 1) > 0.05))
@settings(max_examples=40, deadline=None)
def test_a_temperature_is_measured(seed, temperature):
    found = relation(logits(seed), logits(seed) / temperature)
    assert found.name == "temperature"
    assert found.parameters["temperature"] == pytest.approx(temperature, rel=1e-6)


@given(st.integers(0, 10_000), st.integers(2, 30))
@settings(max_examples=40, deadline=None)
def test_two_models_have_no_form_in_common(seed, columns):
    left, right = logits(seed, columns=columns), logits(seed + 1, columns=columns)
    assert relation(left, right).name == "unknown"
    assert relation(softmax(left), softmax(right)).name in ("unknown", "close")


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_softmax_is_that_of_scipy(seed):
    np.testing.assert_allclose(softmax(logits(seed)), oracle(logits(seed), axis=1), rtol=1e-12)
    np.testing.assert_allclose(sigmoid(logits(seed)), expit(logits(seed)), rtol=1e-9, atol=1e-15)
    assert is_probability(softmax(logits(seed)))


def test_outputs_without_any_spread_are_measured_by_their_size():
    assert apart(np.full((5, 2), 4.0), np.full((5, 2), 5.0)) == pytest.approx(0.25)
