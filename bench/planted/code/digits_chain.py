"""From ink counts, (8, 8) of 0..16, to what the network gets."""

import numpy as np


def decode(sample):
    """Read ink counts as numbers that can be divided."""
    return np.asarray(sample).astype(np.float32)


def scale(sample):
    """Bring 0..16 to 0..1."""
    return sample / np.float32(16)


def layout(sample):
    """Put the channel in front."""
    return sample[np.newaxis]
