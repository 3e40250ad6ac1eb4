"""From a recording, (2000, 1) of 16 bits at 4 kHz, to what the network gets."""

import numpy as np

RATE_HZ, FRAME, HOP, BANDS = 4000, 256, 125, 24


def bank():
    """Return (bands, bins) triangles, evenly spaced in mel."""
    mel = np.linspace(0, 2595 * np.log10(1 + RATE_HZ / 2 / 700), BANDS + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    bins = np.fft.rfftfreq(FRAME, 1 / RATE_HZ)
    up = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(up, down))


BANK = bank()


def decode(sample):
    """Bring 16 bits to -1..1."""
    return np.asarray(sample).astype(np.float32) / np.float32(32768)


def spectrum(sample):
    """Return (frames, bands): the energy in each band, frame by frame."""
    starts = np.arange(0, len(sample) - FRAME + 1, HOP)
    frames = sample[:, 0][starts[:, None] + np.arange(FRAME)] * np.hanning(FRAME)
    return (np.abs(np.fft.rfft(frames, axis=1)) ** 2 @ BANK.T).astype(np.float32)


def loudness(sample):
    """Take logarithms, and bring to about zero, give or take one."""
    return ((np.log(sample + np.float32(1e-6)) + 6) / 4).astype(np.float32)


def layout(sample):
    """Put the bands in front."""
    return np.ascontiguousarray(sample.T)
