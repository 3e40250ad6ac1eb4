"""From ten measurements of a cell, some of them missing, to what the network gets."""

import numpy as np

MEAN = np.array([14.1, 19.3, 92.0, 655.0, 0.096, 0.104, 0.089, 0.049, 0.181, 0.063], np.float32)
DEVIATION = np.array([3.5, 4.3, 24.3, 352.0, 0.014, 0.053, 0.08, 0.039, 0.027, 0.007], np.float32)


def decode(sample):
    """Read measurements; a missing one is no number."""
    return np.asarray(sample).astype(np.float32)


def fill(sample):
    """Put the mean where a measurement is missing."""
    return np.where(np.isnan(sample), MEAN, sample).astype(np.float32)


def standardise(sample):
    """Bring each measurement to about zero, give or take one."""
    return (sample - MEAN) / DEVIATION


def answer(outputs):
    """Say 1 (benign) only when it is sure: a miss costs more than an alarm."""
    likely = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    return (likely[:, 1] > 0.6).astype(np.int64)
