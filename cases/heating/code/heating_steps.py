"""The steps between a raw composition and the model's input, one sample at a time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def decode(sample: Vector) -> Vector:
    """Read a composition: per cent by mass of C, H, O, N, S."""
    return sample.astype(np.float32)


def select(sample: Vector, columns: Sequence[int] = (0, 1, 2, 3, 4)) -> Vector:
    """Put the elements in the order that the model expects: C, H, O, N, S."""
    return sample[np.array(columns)]


def standardise(sample: Vector, mean: Sequence[float], deviation: Sequence[float]) -> Vector:
    """Bring each element to about zero, give or take one."""
    return (sample - np.array(mean, np.float32)) / np.array(deviation, np.float32)
