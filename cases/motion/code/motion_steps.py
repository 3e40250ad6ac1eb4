"""The steps between a raw recording and the model's input, one recording at a time."""

import numpy as np
from numpy.typing import NDArray


def decode(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Read a recording, (100, 6): m/s2 and rad/s."""
    return sample.astype(np.float32)


def units(sample: NDArray[np.float32], gravity: float = 9.81) -> NDArray[np.float32]:
    """Bring accelerations from m/s2 to multiples of g; angular velocities stay in rad/s."""
    divisor = np.array([gravity] * 3 + [1.0] * 3, np.float32)
    return sample / divisor


def layout(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Put the channels in front, as the network expects: (100, 6) to (6, 100)."""
    return np.ascontiguousarray(sample.T)
