"""From three sensors of a wheel, (100, 3) in volts, to what the network gets."""

import numpy as np


def decode(sample):
    """Read a recording."""
    return np.asarray(sample).astype(np.float32)


def scale(sample):
    """Bring 0..5 volts to 0..1."""
    return sample / np.float32(5)


def layout(sample):
    """Put the channels in front."""
    return np.ascontiguousarray(sample.T)
