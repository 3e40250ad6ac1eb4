"""Pictures that went through JPEG once more: blocks of 8x8 whose cosines were rounded."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation, squared_error

BLOCK = 8
TINY = 1e-9
SLACK = 0.03  # decoders may differ by a rounding of a cosine: T.81 leaves it to them
LIKE = 0.1  # of squared correlation
FIT = 0.9  # of the difference, on few rows, to be proposed
FEW_ROWS = 3
FIRST = (20, 50, 75, 90)
HOPELESS = 0.9  # of the difference: what the first leave, where it is no JPEG
COARSE = (10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 95)
COLOURS = 3
# ITU-T T.81, annex K: what libjpeg scales by its quality.
LUMA = np.array([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
]).reshape(BLOCK, BLOCK)  # fmt: skip
CHROMA = np.full((BLOCK, BLOCK), 99)
CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]
_TO_YCC = np.array(
    [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]
)
_COSINES = np.sqrt(2 / BLOCK) * np.cos(
    (2 * np.arange(BLOCK)[None] + 1) * np.arange(BLOCK)[:, None] * np.pi / (2 * BLOCK)
)
_COSINES[0] /= np.sqrt(2)


def jpeg(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the quality, with and without halved colours, that gives the candidate's pixels.

    Pixels count 0 to 255, or 0 to 1. The search runs over few pictures, coarse and then by one.
    """
    planes, wanted = reference.planes, candidate.planes
    if not aligned(reference, candidate) or min(planes.shape[2:]) < BLOCK:
        return
    if planes.shape[1] not in {1, COLOURS} or planes.min() < -1e-6:  # noqa: PLR2004
        return
    few, goal = planes[:FEW_ROWS], wanted[:FEW_ROWS]
    if correlation(few, goal) < LIKE:
        return
    full = 1.0 if planes.max() <= 1 else 255.0
    difference = squared_error(few, goal)
    best, error = _search(few, goal, full)
    if difference == 0 or 1 - error / difference < FIT:
        return
    quality, halved = best
    colours = ", colours at half size" if halved and planes.shape[1] == COLOURS else ""
    found = of_planes(
        "jpeg", f"encoded as JPEG again (quality {quality}{colours})",
        _through(quality, halved=halved, full=full), cost=1.2, quality=quality, halved=int(halved),
    )  # fmt: skip
    yield replace(found, slack=SLACK)


def _search(few: Array, goal: Array, full: float) -> tuple[tuple[int, bool], float]:
    tried: dict[tuple[int, bool], float] = {}

    def attempt(quality: int, *, halved: bool) -> None:
        if 1 <= quality <= 100 and (quality, halved) not in tried:  # noqa: PLR2004
            made = _through(quality, halved=halved, full=full)(few)
            tried[quality, halved] = squared_error(made, goal)

    ways = (True, False)[: 2 if few.shape[1] == COLOURS else 1]
    for halved in ways:
        for quality in FIRST:
            attempt(quality, halved=halved)
    if min(tried.values()) > HOPELESS * squared_error(few, goal):
        best = min(tried, key=tried.__getitem__)
        return best, tried[best]
    for halved in ways:
        for quality in COARSE:
            attempt(quality, halved=halved)
    for step in (4, 2, 1):
        quality, halved = min(tried, key=tried.__getitem__)
        for by in (-step, step):
            attempt(quality + by, halved=halved)
    best = min(tried, key=tried.__getitem__)
    return best, tried[best]


def _through(quality: int, *, halved: bool, full: float) -> Callable[[Array], Array]:
    return lambda planes: encode(planes * (255 / full), quality, halved=halved) * (full / 255)


def encode(planes: Array, quality: int, *, halved: bool) -> Array:
    """Encode and decode (rows, 1 or 3, height, width) of 0 to 255 as libjpeg does."""
    height, width = planes.shape[2:]
    pixels = np.clip(np.rint(planes), 0, 255)
    if planes.shape[1] == 1:
        return _blocks(_whole(pixels, BLOCK, BLOCK), _table(LUMA, quality))[:, :, :height, :width]
    turned = np.einsum("oc,nchw->nohw", _TO_YCC, _whole(pixels, 2, 2 * BLOCK))
    turned[:, 1:] += 128
    turned = np.rint(turned)
    luma = _blocks(_whole(turned[:, :1], BLOCK, BLOCK), _table(LUMA, quality))[
        :, :, :height, :width
    ]
    colours = _halve(turned[:, 1:]) if halved else turned[:, 1:]
    # Colours are repeated to the right before they are halved, and downwards after.
    colours = _blocks(_whole(colours, BLOCK, BLOCK), _table(CHROMA, quality))
    if halved:
        colours = _double(colours[:, :, : (height + 1) // 2, : (width + 1) // 2])
    whole = np.concatenate([luma, colours[:, :, :height, :width] - 128], axis=1)
    back = np.einsum("oc,nchw->nohw", np.linalg.inv(_TO_YCC), whole)
    return np.asarray(np.clip(np.rint(back), 0, 255))


def _whole(planes: Array, tall: int, wide: int) -> Array:
    """Repeat the edge until height and width are multiples of these."""
    down, across = -planes.shape[2] % tall, -planes.shape[3] % wide
    return np.pad(planes, ((0, 0), (0, 0), (0, down), (0, across)), mode="edge")


def _table(base: Array, quality: int) -> Array:
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality  # noqa: PLR2004
    return np.clip((base * scale + 50) // 100, 1, 255).astype(np.float64)


def _blocks(planes: Array, table: Array) -> Array:
    rows, channels, height, width = planes.shape
    cut = (planes - 128).reshape(rows, channels, height // BLOCK, BLOCK, width // BLOCK, BLOCK)
    cut = cut.swapaxes(3, 4)
    found = _rounded((_COSINES @ cut @ _COSINES.T) / table) * table
    back = (_COSINES.T @ found @ _COSINES).swapaxes(3, 4).reshape(planes.shape) + 128
    return np.asarray(np.clip(np.rint(back), 0, 255))


def _rounded(values: Array) -> Array:
    """Round halves away from 0, as libjpeg does: means of whole numbers often end in a half."""
    return np.asarray(np.sign(values) * np.floor(np.abs(values) + 0.5 + TINY))


def _halve(planes: Array) -> Array:
    sums = planes[:, :, ::2] + planes[:, :, 1::2]
    sums = sums[..., ::2] + sums[..., 1::2]
    # libjpeg adds 1 and 2 in turn before it drops the remainder, so that no side is favoured.
    return np.floor((sums + 1 + np.arange(sums.shape[3]) % 2) / 4)


def _double(planes: Array) -> Array:
    """Give twice the size: three parts of the nearest, one of the next (libjpeg's default)."""
    for axis in (2, 3):
        before = np.concatenate([np.take(planes, [0], axis), planes], axis=axis)
        after = np.concatenate([planes, np.take(planes, [-1], axis)], axis=axis)
        size = planes.shape[axis]
        first = 3 * planes + np.take(before, range(size), axis)
        second = 3 * planes + np.take(after, range(1, size + 1), axis)
        planes = np.stack([first, second], axis=axis + 1) / 4
        shape = list(planes.shape)
        planes = planes.reshape(*shape[:axis], 2 * size, *shape[axis + 2 :])
    return np.asarray(np.rint(planes))
