"""What the device runs in place of the training pipeline's picture library."""

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]


def decode(sample: bytes) -> Picture:
    """Read a JPEG file as the device's library gives it; the library turns it by its tag."""
    return np.asarray(cv2.imdecode(np.frombuffer(sample, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def resize(sample: Picture, size: int = 32) -> Picture:
    """Scale to (size, size, 3), each new pixel the mean of the area that it covers."""
    return np.asarray(cv2.resize(sample, (size, size), interpolation=cv2.INTER_AREA), np.uint8)
