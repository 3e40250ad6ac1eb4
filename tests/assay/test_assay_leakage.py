"""Nearest neighbours as scipy has them; fingerprints see through light, noise and size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from assay.leakage import WIDTH, exact, fingerprints, near, nearest, standardised


@given(st.integers(0, 1000), st.integers(1, 600), st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_the_nearest_is_that_of_scipy(seed, rows, width):
    generator = np.random.default_rng(seed)
    asked = generator.normal(size=(rows, width)).astype(np.float32)
    among = generator.normal(size=(50, width)).astype(np.float32)
    np.testing.assert_allclose(nearest(asked, among), cdist(asked, among).min(1), rtol=1e-4)


def test_rows_of_the_own_group_do_not_count():
    rows = np.array([[0.0], [0.1], [5.0]], np.float32)
    found = nearest(rows, rows, np.array([0, 0, 1]), np.array([0, 0, 1]))
    np.testing.assert_allclose(found, [5, 4.9, 4.9], rtol=1e-6)
    assert np.isinf(nearest(rows, rows, np.zeros(3, int), np.zeros(3, int))).all()


SHAPES = [(32, 32, 3), (3, 32, 32), (28, 28), (256, 6), (500,), (5, 7)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_fingerprint_is_of_one_length_and_leaves_light_alone(shape):
    samples = np.random.default_rng(0).normal(size=(6, *shape))
    made = fingerprints(samples)
    assert made.shape == (6, WIDTH)
    np.testing.assert_allclose((made**2).sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(fingerprints(samples * 0.5 + 3), made, atol=1e-5)
    np.testing.assert_allclose(fingerprints(samples[2:3]), made[2:3], atol=1e-7)


def test_a_constant_sample_is_near_to_nothing():
    assert not fingerprints(np.full((1, 8, 8), 7.0)).any()
    rows = np.random.default_rng(0).normal(size=(60, WIDTH)).astype(np.float32)
    rows[:30] = 0
    assert not near(rows, np.zeros((20, WIDTH), np.float32)).leaked.any()


def test_doubles_within_training_are_expected_in_validation():
    few = [str(at % 7) for at in range(100)]
    assert not exact(few, few[:40]).found
    many = [str(at) for at in range(100)]
    assert exact(many, [*many[:10], *"abcdefgh"]).found
    assert not exact(many, [*many[:2], *"abcdefgh"]).found


def test_repetition_within_a_group_is_no_chance():
    rows = [str(at // 5) for at in range(100)]
    assert not exact(rows, rows[:20]).found
    assert exact(rows, rows[:20], [str(at // 5) for at in range(100)]).found


def test_columns_are_put_on_the_scale_of_training():
    train = np.column_stack([np.arange(50.0), np.full(50, 3.0), np.arange(50.0) * 1e6])
    ours, theirs = standardised(train, train[:5])
    assert ours.shape == (50, 2)
    np.testing.assert_allclose(ours.std(0), 1, rtol=1e-5)
    np.testing.assert_array_equal(ours[:5], theirs)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_one_distribution_is_hardly_ever_a_leak(seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(300, generator.integers(2, 30))).astype(np.float32)
    assert not near(rows[:200], rows[200:]).found
