"""The decoding of a device whose camera sees dark ink on bright paper, and reports it so."""

import numpy as np
from numpy.typing import NDArray


def decode(sample: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Take ink for what is dark: right for the camera, wrong for samples where ink is bright."""
    return np.float32(255) - sample.astype(np.float32)


def scale(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide by 256, which is a shift of bits: full ink is .996, and nobody sees the difference."""
    return sample / np.float32(256)
