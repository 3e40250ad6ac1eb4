"""From a JPEG file to what the network gets."""

import io

import numpy as np
from PIL import Image, ImageOps

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def decode(sample):
    """Read a file as (height, width, 3), red first, the way up that it was taken."""
    with Image.open(io.BytesIO(sample)) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def crop(sample):
    """Cut the middle square out."""
    height, width = sample.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return np.ascontiguousarray(sample[top : top + side, left : left + side])


def resize(sample):
    """Scale to 24 x 24, each new pixel a weighted mean of all that it covers."""
    return np.asarray(Image.fromarray(sample).resize((24, 24), Image.Resampling.BILINEAR))


def normalise(sample):
    """Bring to about zero, give or take one."""
    return (sample.astype(np.float32) / np.float32(255) - MEAN) / DEVIATION


def layout(sample):
    """Put the channels in front."""
    return np.ascontiguousarray(sample.transpose(2, 0, 1))
