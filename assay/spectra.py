"""Where the energy of pictures and of signals lies, by frequency."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

NYQUIST = 0.5  # cycles a sample, or a pixel


def radial_bands(picture: ArrayLike, num_bands: int = 3) -> Floats:
    """Share the energy of a picture, its mean taken off, among rings of equal width in frequency.

    A Hann window keeps the edges from ringing. Frequencies go to half a cycle a pixel; what lies
    beyond that ring, in the corners, counts to the last band. A flat picture has no energy: zeros.

    Args:
        picture: (height, width).
        num_bands: rings, the slow ones first.

    >>> tiles = np.indices((32, 32)).sum(axis=0) % 2
    >>> radial_bands(tiles).round(2).tolist()
    [0.0, 0.0, 1.0]
    """
    values = np.asarray(picture, dtype=np.float64)
    height, width = values.shape
    window = np.outer(_hann(height), _hann(width))
    mean = float((values * window).sum() / window.sum())
    power = np.abs(np.fft.rfft2((values - mean) * window)) ** 2
    if width > 1:  # a column stands for its mirror too, but the first and, if even, the last
        power[:, 1 : (width + 1) // 2] *= 2
    rings = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :])
    return _shares(power.ravel(), rings.ravel(), num_bands)


def signal_bands(signal: ArrayLike, num_bands: int = 3) -> Floats:
    """Share each channel's energy, its mean taken off, among bands up to half a cycle a sample.

    Args:
        signal: (time, channels).
        num_bands: of equal width, the slow ones first.

    Returns:
        (channels, bands); zeros where a channel is flat.
    """
    power, frequencies = _power(signal)
    return np.stack([_shares(column, frequencies, num_bands) for column in power.T])


def dominant_frequency(signal: ArrayLike) -> Floats:
    """Return each channel's strongest frequency in cycles a sample; NaN where it is flat.

    >>> wave = np.sin(2 * np.pi * 0.1 * np.arange(200))
    >>> dominant_frequency(wave[:, None]).tolist()
    [0.1]
    """
    power, frequencies = _power(signal)
    flat = power.sum(axis=0) <= np.finfo(np.float64).tiny
    return np.where(flat, np.nan, frequencies[power.argmax(axis=0)])


def _power(signal: ArrayLike) -> tuple[Floats, Floats]:
    values = np.asarray(signal, dtype=np.float64)
    window = _hann(len(values))[:, None]
    centred = values - (values * window).sum(axis=0) / window.sum()
    # A constant that is no round number leaves its last bit behind: that is no signal.
    noise = np.abs(centred).max(axis=0) <= 1e-12 * (1 + np.abs(values).max(axis=0))
    power = np.abs(np.fft.rfft(np.where(noise, 0.0, centred) * window, axis=0)) ** 2
    power[1 : (len(values) + 1) // 2] *= 2
    frequencies: Floats = np.fft.rfftfreq(len(values)).astype(np.float64)
    return power.astype(np.float64), frequencies


def _shares(power: Floats, frequencies: Floats, num_bands: int) -> Floats:
    places = np.minimum(num_bands - 1, (frequencies / NYQUIST * num_bands).astype(int))
    sums = np.bincount(places, power, num_bands)
    total = float(sums.sum())
    return sums / total if total > np.finfo(np.float64).tiny else np.zeros(num_bands)


def _hann(length: int) -> Floats:
    """Return a Hann window without zeros at its ends: short signals have no rows to lose."""
    return np.hanning(length + 2)[1:-1]
