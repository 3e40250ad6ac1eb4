"""The steps between a raw sample and the model's input, one sample at a time."""

import numpy as np
from numpy.typing import NDArray


def decode(sample: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Read grey levels, (28, 28) uint8, as numbers that can be divided: ink is bright."""
    return sample.astype(np.float32)


def scale(sample: NDArray[np.float32], divisor: float = 255.0) -> NDArray[np.float32]:
    """Bring 0..255 to 0..255 / divisor; with the default, full ink is 1."""
    return sample / np.float32(divisor)


def layout(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Put the channel that the network expects in front: (28, 28) to (1, 28, 28)."""
    return sample[np.newaxis]
