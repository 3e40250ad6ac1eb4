"""From a range picture, (32, 32) of millimetres with 0 where nothing came back, to the network."""

import cv2
import numpy as np


def decode(sample):
    """Read distances as numbers that can be subtracted."""
    return np.asarray(sample).astype(np.float32)


def fill(sample):
    """Put the middle of the picture's distances where nothing came back."""
    there = sample > 0
    middle = np.median(sample[there]) if there.any() else 0
    return np.where(there, sample, np.float32(middle)).astype(np.float32)


def resize(sample):
    """Reduce to 24 x 24, each new pixel a mean of what it covers."""
    return cv2.resize(sample, (24, 24), interpolation=cv2.INTER_AREA)


def level(sample):
    """Return heights above the floor, which most of the rim shows."""
    rim = np.concatenate([sample[0], sample[-1], sample[:, 0], sample[:, -1]])
    return (np.median(rim) - sample).astype(np.float32)


def normalise(sample):
    """Bring 0 to 200 millimetres to about zero, give or take one."""
    return (sample - np.float32(40)) / np.float32(80)


def layout(sample):
    """Put the channel in front."""
    return sample[np.newaxis]
