"""Pictures (or series) moved by whole or part pixels."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

Border: TypeAlias = Literal["wrap", "edge", "reflect", "constant", "fourier"]
WHOLE = 0.02  # pixels: nearer to a whole pixel is whole
SNAP = 0.02
LONG = 8  # moments of a series
REACH = (-1, 0, 1)


def translation(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the shift at the peak of the cross-correlation, refined below a pixel.

    Whole shifts come with each way to fill the border. Part shifts are refined by a least-squares
    kernel around the peak (bilinear) and by the slope of the phase (band-limited; Foroosh et al.
    2002), and snapped to quarters of a pixel.
    """
    if not aligned(reference, candidate) or reference.planes.shape[2:] == (1, 1):
        return
    left, right = reference.planes, candidate.planes
    peak = peak_of(left, right)
    if left.shape[3] == 1 and left.shape[2] > LONG:
        # A wandering level hides where a series moved; its steps show it.
        steps = peak_of(np.diff(left, axis=2), np.diff(right, axis=2))
        if steps != peak:
            yield from _whole(steps, left, right)
    yield from _whole(peak, left, right)
    refined: tuple[tuple[tuple[float, float], tuple[Border, ...]], ...] = (
        (_kernel_centre(left, right, peak), ("edge", "wrap", "constant")),
        (_phase_slope(left, right, peak), ("fourier",)),
    )
    for part, borders in refined:
        if max(abs(part[0]), abs(part[1])) > WHOLE:
            total = (_snapped(peak[0] + part[0]), _snapped(peak[1] + part[1]))
            for way in borders:
                yield _propose(total, way, 0.0, 1.3)


def _whole(peak: tuple[int, int], left: Array, right: Array) -> Iterator[Proposal]:
    """Propose a whole shift with each way to fill the border."""
    if peak == (0, 0):
        return
    yield _propose(peak, "wrap", 0.0, 1.1)
    if _overlap(peak, left.shape):
        fill = float(np.median(_uncovered(right, peak)))
        yield _propose(peak, "edge", 0.0, 1.15)
        yield _propose(peak, "reflect", 0.0, 1.15)
        for value in {0.0, fill}:
            yield _propose(peak, "constant", value, 1.15)


def move(planes: Array, shift: tuple[float, float], border: Border, fill: float = 0.0) -> Array:
    """Move (rows, channels, height, width) down and right by `shift` pixels, bilinearly."""
    if border == "fourier":
        frequencies = [np.fft.fftfreq(n) for n in planes.shape[2:]]
        ramp = shift[0] * frequencies[0][:, None] + shift[1] * frequencies[1][None, :]
        return np.fft.ifft2(np.fft.fft2(planes) * np.exp(-2j * np.pi * ramp)).real
    moved = planes
    for axis, by in ((2, shift[0]), (3, shift[1])):
        low = int(np.floor(by))
        weight = by - low
        first = _roll(moved, low, axis, border, fill)
        # A whole shift must not read the neighbour at all.
        moved = (
            first
            if weight == 0
            else (1 - weight) * first + weight * _roll(moved, low + 1, axis, border, fill)
        )
    return moved


def _roll(planes: Array, by: int, axis: int, border: Border, fill: float) -> Array:
    size = planes.shape[axis]
    at = np.arange(size) - by
    inside = (at >= 0) & (at < size)
    if border == "wrap":
        return np.asarray(np.take(planes, at % size, axis=axis))
    if border == "reflect":
        period = max(1, 2 * (size - 1))
        at = np.abs(at) % period
        at = np.minimum(at, period - at)
    taken = np.take(planes, np.clip(at, 0, size - 1), axis=axis)
    if border == "constant":
        shape = [1] * planes.ndim
        shape[axis] = size
        taken = np.where(inside.reshape(shape), taken, fill)
    return np.asarray(taken)


def _spectrum(left: Array, right: Array) -> Array:
    """Give (channels, height, width) cross spectra, summed over rows, of unit size a channel."""
    sides = [planes - planes.mean(axis=(2, 3), keepdims=True) for planes in (left, right)]
    norms = np.sqrt((sides[0] ** 2).sum(axis=(0, 2, 3)) * (sides[1] ** 2).sum(axis=(0, 2, 3)))
    cross = (np.conj(np.fft.fft2(sides[0])) * np.fft.fft2(sides[1])).sum(axis=0)
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.asarray(cross * scale[:, None, None])


def peak_of(left: Array, right: Array) -> tuple[int, int]:
    """Give the whole shift, down and right, at which the two correlate most."""
    # The absolute value, because an inverted picture has a negative peak.
    correlations = np.abs(np.fft.ifft2(_spectrum(left, right)).real).sum(axis=0)
    height, width = correlations.shape
    down, across = np.unravel_index(int(correlations.argmax()), correlations.shape)
    return (
        int(down) - height * (2 * int(down) > height),
        int(across) - width * (2 * int(across) > width),
    )


def _overlap(peak: tuple[int, int], shape: tuple[int, ...]) -> bool:
    return abs(peak[0]) < shape[2] and abs(peak[1]) < shape[3]


def _uncovered(planes: Array, peak: tuple[int, int]) -> Array:
    covered = move(np.ones((1, 1, *planes.shape[2:])), peak, "constant")[0, 0] > 0
    return planes[:, :, ~covered]


def _kernel_centre(left: Array, right: Array, peak: tuple[int, int]) -> tuple[float, float]:
    """Regress the candidate on the nine neighbours and take the centre of their weights."""
    height, width = left.shape[2:]
    trim = [
        min(abs(by) + 1, (size - 1) // 2) for by, size in zip(peak, (height, width), strict=True)
    ]
    inner = np.s_[:, :, trim[0] : height - trim[0], trim[1] : width - trim[1]]
    steps = [
        (down, across)
        for down in (REACH if height > 2 else (0,))  # noqa: PLR2004
        for across in (REACH if width > 2 else (0,))  # noqa: PLR2004
    ]
    columns = []
    for down, across in steps:
        shifted = move(left, (peak[0] + down, peak[1] + across), "wrap")
        columns.append((shifted - shifted.mean(axis=(2, 3), keepdims=True))[inner].ravel())
    target = (right - right.mean(axis=(2, 3), keepdims=True))[inner].ravel()
    if len(target) < 4 * len(steps):
        return 0.0, 0.0
    weights = np.linalg.lstsq(np.stack(columns, axis=1), target, rcond=1e-6)[0]
    total = float(weights.sum())
    if abs(total) < 1e-9:  # noqa: PLR2004
        return 0.0, 0.0
    down, across = (weights / total) @ np.array(steps, dtype=np.float64)
    return float(np.clip(down, -1, 1)), float(np.clip(across, -1, 1))


def _phase_slope(left: Array, right: Array, peak: tuple[int, int]) -> tuple[float, float]:
    """Fit the plane of the cross spectrum's phase over the lower half of the frequencies."""
    spectra = _spectrum(move(left, peak, "wrap"), right)
    signs = np.sign(spectra.real.sum(axis=(1, 2)))
    spectrum = (spectra * signs[:, None, None]).sum(axis=0)
    down, across = np.meshgrid(*(np.fft.fftfreq(n) for n in spectrum.shape), indexing="ij")
    low = (np.abs(down) < 0.25) & (np.abs(across) < 0.25) & ((down != 0) | (across != 0))  # noqa: PLR2004
    weights = np.sqrt(np.abs(spectrum[low]))
    columns = -2 * np.pi * np.stack([down[low], across[low]], axis=1) * weights[:, None]
    if len(weights) < 4 or not weights.any():  # noqa: PLR2004
        return 0.0, 0.0
    shift = np.linalg.lstsq(columns, np.angle(spectrum[low]) * weights, rcond=1e-9)[0]
    return float(np.clip(shift[0], -1, 1)), float(np.clip(shift[1], -1, 1))


def _snapped(by: float) -> float:
    nearest = round(4 * by) / 4
    return nearest if abs(by - nearest) <= SNAP else by


def _propose(shift: tuple[float, float], border: Border, fill: float, cost: float) -> Proposal:
    fills = {"wrap": "wrapped around", "edge": "edge repeated", "reflect": "border reflected",
             "constant": f"filled with {fill:.6g}", "fourier": "band-limited"}  # fmt: skip
    name = f"shifted by {shift[0]:.3g} px down and {shift[1]:.3g} px right ({fills[border]})"
    whole = all(float(by).is_integer() for by in shift)
    return of_planes(
        "shift" if whole else "subpixel_shift",
        name,
        lambda planes: move(planes, shift, border, fill),
        cost=cost,
        down=float(shift[0]),
        right=float(shift[1]),
        border=border,
        fill=fill,
    )
