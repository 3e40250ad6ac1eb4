"""From a .npy file to the numbers that the model gets."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray


def decode(raw: bytes) -> NDArray[Any]:
    """Read the array of a .npy file."""
    array: NDArray[Any] = np.load(io.BytesIO(bytes(raw)), allow_pickle=False)
    return array


def as_float(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers as float32."""
    return array.astype(np.float32)
