"""From a row of samples.npy to the numbers that the model gets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_float(row: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers as float32."""
    return row.astype(np.float32)
