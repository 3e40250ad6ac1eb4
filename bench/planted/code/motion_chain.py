"""From a recording, (100, 6) in m/s2 and rad/s, to what the network gets."""

import numpy as np

DIVISOR = np.array([9.81, 9.81, 9.81, 1.0, 1.0, 1.0], np.float32)


def decode(sample):
    """Read a recording."""
    return np.asarray(sample).astype(np.float32)


def units(sample):
    """Bring accelerations to multiples of g; angular velocities stay in rad/s."""
    return sample / DIVISOR


def layout(sample):
    """Put the channels in front."""
    return np.ascontiguousarray(sample.T)


def answer(outputs):
    """Name the likeliest activity; 0, at rest, unless it is likely enough."""
    likely = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    return np.where(likely.max(axis=1) >= 0.5, likely.argmax(axis=1), 0)
