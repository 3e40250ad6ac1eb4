"""What the picture of the worst samples shows."""

import io

import numpy as np
import pytest
from PIL import Image

from stages.parity_picture import _is_signal, _largest, draw
from stages.step_pairs import Pair


def test_exchanged_colours_are_not_averaged_away():
    picture = np.random.default_rng(0).integers(0, 255, (4, 4, 3)).astype(float)
    difference = picture[..., ::-1] - picture
    assert np.abs(difference.mean(axis=-1)).max() < 1e-9
    assert (np.abs(_largest(difference)) == np.abs(difference).max(axis=-1)).all()


@pytest.mark.parametrize(
    ("shape", "is_signal"),
    [((100, 6), True), ((6, 100), True), ((28, 28), False), ((16, 100), True), ((20, 100), False)],
)
def test_a_signal_is_told_from_a_picture(shape, is_signal):
    assert _is_signal(np.zeros(shape)) is is_signal


@pytest.mark.parametrize("shape", [(30,), (100, 6), (8, 8), (8, 8, 3), (3, 8, 8)])
def test_each_kind_of_sample_is_drawn(shape):
    rows = np.random.default_rng(1).normal(size=(2, *shape))
    drawn = draw(Pair("00_decode", "decode", rows, rows + 1), [0, 1], ["a", "b"])
    assert Image.open(io.BytesIO(drawn)).size[0] > 100
