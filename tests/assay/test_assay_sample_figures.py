"""A planted property of a sample comes back under its name; numpy and scipy agree."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import periodogram

from assay.sample_figures import lag_of, picture_figures, row_figures, signal_figures
from assay.spectra import dominant_frequency, radial_bands, signal_bands

GENERATOR = np.random.default_rng(0)
CLOUDS = gaussian_filter(GENERATOR.normal(size=(48, 64)), 3) * 300 + 120
PICTURE = np.clip(CLOUDS, 10, 245).astype(np.uint8)


def test_brightness_contrast_and_clipping_are_told_apart():
    as_is = picture_figures(PICTURE)
    bright = picture_figures(np.clip(PICTURE.astype(int) + 99, 0, 255).astype(np.uint8))
    assert bright["brightness"] > as_is["brightness"] + 25
    assert bright["saturated"] > as_is["saturated"] == 0.0
    flat = picture_figures((PICTURE // 2 + 60).astype(np.uint8))
    assert flat["contrast"] == pytest.approx(as_is["contrast"] / 2, rel=0.02)


def test_noise_is_estimated_in_the_units_of_the_picture():
    noisy = PICTURE + GENERATOR.normal(0, 6, PICTURE.shape)
    assert picture_figures(noisy)["noise"] == pytest.approx(6, rel=0.15)


def test_blur_takes_the_detail():
    sharp = GENERATOR.normal(size=(64, 64))
    ours, theirs = picture_figures(sharp), picture_figures(gaussian_filter(sharp, 1.5))
    assert theirs["fast detail"] < 0.1 * ours["fast detail"]
    assert theirs["sharpness"] < ours["sharpness"]
    assert sum(ours[f"{band} detail"] for band in ("slow", "middle", "fast")) == pytest.approx(1)


def test_channels_of_a_picture_are_named_and_alpha_is_left_out():
    colours = np.zeros((8, 8, 4), np.uint8)
    colours[..., 0], colours[..., 3] = 200, 255
    found = picture_figures(colours)
    assert found["red mean"] == 200
    assert found["blue mean"] == 0
    assert found["brightness"] == pytest.approx(200 * 0.299)


def test_energy_in_rings_is_that_of_the_whole_spectrum():
    picture = GENERATOR.normal(size=(31, 40))
    window = np.outer(np.hanning(33)[1:-1], np.hanning(42)[1:-1])
    mean = (picture * window).sum() / window.sum()
    power = np.abs(np.fft.fft2((picture - mean) * window)) ** 2
    rings = np.hypot(np.fft.fftfreq(31)[:, None], np.fft.fftfreq(40)[None])
    slow = power[rings < 0.5 / 3].sum() / power.sum()
    assert radial_bands(picture)[0] == pytest.approx(slow)


def test_bands_of_a_signal_are_those_of_scipy():
    signal = GENERATOR.normal(size=(128, 2))
    window = np.hanning(130)[1:-1]
    centred = signal - (signal * window[:, None]).sum(axis=0) / window.sum()
    frequencies, power = periodogram(centred * window[:, None], axis=0, detrend=False)
    slow = power[frequencies < 0.5 / 3].sum(axis=0) / power.sum(axis=0)
    np.testing.assert_allclose(signal_bands(signal)[:, 0], slow)
    np.testing.assert_allclose(dominant_frequency(signal), frequencies[power.argmax(axis=0)])


def test_a_dead_channel_a_stuck_one_and_a_lag_are_named():
    time = np.arange(200)
    wave = np.sin(2 * np.pi * time / 25) + 0.1 * GENERATOR.normal(size=200)
    stuck = wave.copy()
    stuck[50:150] = stuck[50]
    signal = np.stack([wave, np.roll(wave, 4), np.full(200, 0.3), stuck], axis=1)
    found = signal_figures(signal)
    assert found["channel 0 frequency"] == pytest.approx(0.04)
    assert found["lag 0-1"] == 4
    assert found["channel 2 deviation"] == pytest.approx(0)
    assert np.isnan(found["channel 2 frequency"])
    assert found["channel 3 stuck"] == pytest.approx(0.5, abs=0.02)
    assert np.isnan(found["lag 1-2"])


def test_a_lag_has_its_sign():
    wave = GENERATOR.normal(size=100)
    assert lag_of(wave[:-7], wave[7:])[0] == -7


def test_tiny_samples_have_no_spectrum():
    assert "noise" not in picture_figures(np.ones((2, 3)))
    assert "channel 0 frequency" not in signal_figures(np.ones((3, 1)))


def test_columns_have_the_names_that_are_given():
    assert row_figures(np.array([1, 2]), ["carbon"]) == {"carbon": 1.0, "column 1": 2.0}
