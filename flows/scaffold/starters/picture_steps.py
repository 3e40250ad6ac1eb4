"""From a picture file to the numbers that the model gets."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

WIDTH, HEIGHT = 28, 28
MODE = "RGB"  # L: grey


def decode(raw: bytes) -> NDArray[Any]:
    """Decode a file's bytes; uint8, (height, width) or (height, width, channels)."""
    with Image.open(io.BytesIO(bytes(raw))) as picture:
        return np.asarray(picture.convert(MODE))


def resize(pixels: NDArray[Any]) -> NDArray[Any]:
    """Bring a picture to the size that the model takes."""
    if pixels.shape[:2] == (HEIGHT, WIDTH):
        return pixels
    picture = Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR)
    return np.asarray(picture)


def scale(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return float32 from 0 to 1."""
    return pixels.astype(np.float32) / np.float32(255.0)
