"""What the device runs in place of the training pipeline's decoder."""

import numpy as np
from numpy.typing import NDArray


def decode(sample: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Unpack the frame that the device's matrix library hands over, as float32."""
    frame = np.asfortranarray(sample)  # the library keeps matrices column by column
    buffer = frame.ravel(order="K")  # its memory, as the device sees it
    return buffer.reshape(sample.shape).astype(np.float32)
