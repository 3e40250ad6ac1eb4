"""The steps between a JPEG file and the model's input, one file at a time."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

Picture = NDArray[np.uint8]


def decode(sample: bytes) -> Picture:
    """Read a JPEG file as (height, width, 3), red first, the way up that it was taken."""
    with Image.open(io.BytesIO(sample)) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def crop(sample: Picture) -> Picture:
    """Cut the middle square out of a picture that is wider than high, or higher than wide."""
    height, width = sample.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return np.ascontiguousarray(sample[top : top + side, left : left + side])


def resize(sample: Picture, size: int = 32) -> Picture:
    """Scale to (size, size, 3), each new pixel a weighted mean of all that it covers."""
    return np.asarray(Image.fromarray(sample).resize((size, size), Image.Resampling.HAMMING))


def scale(sample: Picture) -> NDArray[np.float32]:
    """Bring 0..255 to -1..1."""
    return sample.astype(np.float32) / np.float32(127.5) - np.float32(1)


def layout(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Put the channels in front, as the network expects: (32, 32, 3) to (3, 32, 32)."""
    return np.ascontiguousarray(sample.transpose(2, 0, 1))
