"""Values that changed places and scale are put back; what is lost is not claimed."""

import numpy as np
import pytest

from assay.rearranged import channel_figures, channel_line, fit_rearrangement

GENERATOR = np.random.default_rng(0)
PICTURES = GENERATOR.gamma(2.0, size=(12, 3, 6, 6)) * np.linspace(0.5, 2, 3)[:, None, None]
ROWS = GENERATOR.normal(size=(30, 5)) * [1, 5, 2, 9, 3] + [0, 3, 1, 7, 2]
CHANGES = {
    "transposed": (PICTURES, lambda x: np.swapaxes(x, 2, 3)),
    "flipped": (PICTURES, lambda x: x[..., ::-1]),
    "turned": (PICTURES, lambda x: np.rot90(x, 1, axes=(2, 3))),
    "anti-transposed": (PICTURES, lambda x: np.swapaxes(x[..., ::-1, ::-1], 2, 3)),
    "blue first": (PICTURES, lambda x: x[:, ::-1]),
    "a mean and a deviation": (PICTURES, lambda x: (x - 0.4) / 0.2),
    "other layout": (PICTURES, lambda x: np.moveaxis(x, 1, 3)),
    "a buffer misread": (PICTURES, lambda x: np.moveaxis(x, 1, 3).reshape(x.shape)),
    "columns": (ROWS, lambda x: x[:, [0, 2, 1, 4, 3]]),
    "plain pictures": (PICTURES[:, 0], lambda x: 255 * np.swapaxes(x, 1, 2)),
}


@pytest.mark.parametrize(("right", "change"), CHANGES.values(), ids=CHANGES.keys())
def test_what_changed_places_and_scale_is_put_back(right, change):
    found = fit_rearrangement(change(right[:8]), right[:8])
    assert found is not None
    assert found.explained == pytest.approx(1)
    np.testing.assert_allclose(found(change(right)), right, rtol=1e-4, atol=1e-4)


def test_what_is_lost_is_not_claimed():
    other = GENERATOR.normal(size=PICTURES.shape)
    found = fit_rearrangement(other, PICTURES)
    assert found is not None
    left = ((found(other) - PICTURES) ** 2).sum()
    assert found.explained == pytest.approx(1 - left / ((other - PICTURES) ** 2).sum(), abs=1e-4)
    assert left > 0.5 * ((PICTURES - PICTURES.mean()) ** 2).sum()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(ROWS, ROWS, id="equal"),
        pytest.param(ROWS[:, :4], ROWS, id="of another size"),
        pytest.param(ROWS[:3], ROWS[:3] * 2, id="too few rows"),
        pytest.param(np.where(ROWS > 8, np.nan, ROWS), ROWS, id="not finite"),
    ],
)
def test_nothing_is_found_where_nothing_can_be_told(given, wanted):
    assert fit_rearrangement(given, wanted) is None


def test_channels_are_brought_to_a_mean_and_a_deviation():
    mean, deviation = channel_figures(PICTURES)
    given = PICTURES * 3 + 1
    gain, offset = channel_line(given, mean, deviation)
    flat = given.reshape(len(given), -1) * gain + offset
    np.testing.assert_allclose(flat, PICTURES.reshape(len(given), -1), atol=1e-9)
