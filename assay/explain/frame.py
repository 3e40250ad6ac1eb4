"""Another frame around the same pixels: cropped, or padded."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes


def frame(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the crop of the reference, or the padding around it, that fits the candidate best."""
    if reference.values.ndim != candidate.values.ndim:
        return
    left, right = reference.planes, candidate.planes
    if left.shape[:2] != right.shape[:2] or left.shape == right.shape:
        return
    (tall, wide), (height, width) = left.shape[2:], right.shape[2:]
    if height <= tall and width <= wide:
        down, across = _place(left, right)
        yield of_planes(
            "crop",
            f"cropped to {height}x{width}, {down} px from the top and {across} px from the left",
            lambda planes: planes[:, :, down : down + height, across : across + width],
            cost=1.05,
            top=down,
            left=across,
        )
    elif height >= tall and width >= wide:
        down, across = _place(right, left)
        outside = np.ones((height, width), dtype=np.bool_)
        outside[down : down + tall, across : across + wide] = False
        fill = float(np.median(right[:, :, outside]))
        widths = ((0, 0), (0, 0), (down, height - tall - down), (across, width - wide - across))
        place = f"padded to {height}x{width}, {down} px at the top and {across} px at the left"
        for value in {0.0, fill}:
            text = f"{place}, filled with {value:.6g}"
            yield of_planes(
                "pad", text, _constant(widths, value), cost=1.1, top=down, left=across, fill=value
            )
        modes: tuple[Literal["edge", "reflect"], ...] = ("edge", "reflect")
        for mode in modes:
            # A reflection has no more pixels to give than the picture.
            if mode == "edge" or max(map(max, widths)) < min(tall, wide):
                how = {"top": down, "left": across, "mode": mode}
                fill_by = _mode(widths, mode)
                yield of_planes("pad", f"{place} ({mode})", fill_by, cost=1.15, **how)


Widths = tuple[tuple[int, int], ...]


def _constant(widths: Widths, value: float) -> Callable[[Array], Array]:
    return lambda planes: np.pad(planes, widths, constant_values=value)


def _mode(widths: Widths, mode: Literal["edge", "reflect"]) -> Callable[[Array], Array]:
    return lambda planes: np.pad(planes, widths, mode=mode)


def _place(large: Array, small: Array) -> tuple[int, int]:
    """Find where the small pictures lie in the large ones: the largest correlation of all."""
    height, width = small.shape[2:]
    size = large.shape[2:]
    centred = small - small.mean(axis=(2, 3), keepdims=True)
    spectrum = (np.fft.rfft2(large) * np.conj(np.fft.rfft2(centred, s=size))).sum(axis=0)
    products = np.fft.irfft2(spectrum, s=size)[:, : size[0] - height + 1, : size[1] - width + 1]
    shifted = large - large.mean(axis=(2, 3), keepdims=True)
    count = height * width
    energies = _boxes(shifted**2, height, width) - _boxes(shifted, height, width) ** 2 / count
    energy = np.maximum(energies.sum(axis=0), 0.0)  # (channels, places down, places across)
    floor = 1e-9 * max(float(energy.max()), 1e-300)
    score = (products**2 / (energy + floor)).sum(axis=0)
    down, across = np.unravel_index(int(score.argmax()), score.shape)
    return int(down), int(across)


def _boxes(planes: Array, height: int, width: int) -> Array:
    """Sum each window of height x width by differences of running sums."""
    sums = np.pad(planes.cumsum(axis=2).cumsum(axis=3), ((0, 0), (0, 0), (1, 0), (1, 0)))
    return np.asarray(
        sums[:, :, height:, width:] - sums[:, :, :-height, width:]
        - sums[:, :, height:, :-width] + sums[:, :, :-height, :-width]
    )  # fmt: skip
