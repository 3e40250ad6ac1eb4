"""From a composition, per cent of C, H, O, N and S, to what the network gets."""

import numpy as np

MEAN = np.array([46.0, 5.0, 35.0, 1.1, 0.3], np.float32)
DEVIATION = np.array([11.0, 1.4, 12.0, 1.1, 0.35], np.float32)


def decode(sample):
    """Read a composition."""
    return np.asarray(sample).astype(np.float32)


def select(sample):
    """Put the elements in the order that the model expects."""
    return sample[np.array([0, 1, 2, 3, 4])]


def standardise(sample):
    """Bring each element to about zero, give or take one."""
    return (sample - MEAN) / DEVIATION
