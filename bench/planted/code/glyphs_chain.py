"""From a scanned letter, (28, 28) of 0..255, to what the network gets."""

import cv2
import numpy as np


def decode(sample):
    """Read grey values."""
    return np.asarray(sample, np.uint8)


def resize(sample):
    """Reduce to 20 x 20, each new pixel a mean of what it covers."""
    return cv2.resize(sample, (20, 20), interpolation=cv2.INTER_AREA)


def normalise(sample):
    """Bring to about zero, give or take one."""
    return (sample.astype(np.float32) / np.float32(255) - np.float32(0.1307)) / np.float32(0.3081)


def layout(sample):
    """Put the channel in front."""
    return sample[np.newaxis]
