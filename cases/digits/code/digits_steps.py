"""The steps between a raw sample and the model's input, one sample at a time."""

import numpy as np
from numpy.typing import NDArray


def decode(sample: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Read ink counts, (8, 8) uint8, as numbers that can be divided."""
    return sample.astype(np.float32)


def scale(sample: NDArray[np.float32], divisor: float = 16.0) -> NDArray[np.float32]:
    """Bring 0..16 to 0..16 / divisor; with the default, full ink is 1."""
    return sample / np.float32(divisor)


def layout(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Put the channel that the network expects in front: (8, 8) to (1, 8, 8)."""
    return sample[np.newaxis]
