"""A sample in a few named figures: what a picture, a signal or a row of a table looks like."""

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.spectra import dominant_frequency, radial_bands, signal_bands

Floats = NDArray[np.float64]
Figures = dict[str, float]

LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
BANDS = ("slow", "middle", "fast")
COLOURS = {1: ("grey",), 3: ("red", "green", "blue")}
MOST_CHANNELS = 12  # of a signal: each adds eight figures
LEAST_SIDE = 4  # pixels, or samples: less has no spectrum
# A fourth-derivative mask of which flat patches, edges and slopes make nothing.
NOISE_MASK = ((1, -2, 1), (-2, 4, -2), (1, -2, 1))


def picture_figures(picture: NDArray[Any]) -> Figures:
    """Describe (height, width) or (height, width, channels); an alpha channel is left out.

    Brightness and contrast are the mean and the deviation of the luma, saturated the share of
    values at the ends of an integer type, noise Immerkaer's estimate (1996), sharpness the
    deviation of the Laplacian (Pech-Pacheco et al. 2000); all in units of the values.

    >>> picture_figures(np.zeros((8, 8), np.uint8))["saturated"]
    1.0
    """
    values = picture[..., None] if picture.ndim == 2 else picture  # noqa: PLR2004
    channels = values.shape[2]
    if channels in (2, 4):  # the last one is how much shows through
        values, channels = values[..., :-1], channels - 1
    plane = values.astype(np.float64)
    luma = plane @ LUMA if channels == len(LUMA) else plane.mean(axis=2)
    found = {"brightness": float(luma.mean()), "contrast": float(luma.std())}
    low, middle, high = np.quantile(luma, [0.05, 0.5, 0.95])
    found |= {"dark end": float(low), "median": float(middle), "bright end": float(high)}
    if values.dtype.kind in "iu":
        ends = np.iinfo(values.dtype)
        found["saturated"] = float(((values == ends.min) | (values == ends.max)).mean())
    names = COLOURS.get(channels, tuple(f"channel {at}" for at in range(channels)))
    if channels > 1:
        for name, mean, std in zip(
            names, plane.mean(axis=(0, 1)), plane.std(axis=(0, 1)), strict=True
        ):
            found |= {f"{name} mean": float(mean), f"{name} deviation": float(std)}
    if min(luma.shape) >= LEAST_SIDE:
        found |= {"noise": _noise(luma), "sharpness": _sharpness(luma)}
        shares = radial_bands(luma, len(BANDS))
        found |= {f"{band} detail": float(it) for band, it in zip(BANDS, shares, strict=True)}
    return found


def _noise(luma: Floats) -> float:
    total = np.abs(_filtered(luma, NOISE_MASK)).mean()
    return float(sqrt(pi / 2) / 6 * total)


def _sharpness(luma: Floats) -> float:
    return float(_filtered(luma, ((0, 1, 0), (1, -4, 1), (0, 1, 0))).std())


def _filtered(plane: Floats, mask: Sequence[Sequence[int]]) -> Floats:
    height, width = plane.shape
    made: Floats = np.zeros((height - 2, width - 2))
    for down, row in enumerate(mask):
        for right, weight in enumerate(row):
            made += weight * plane[down : down + height - 2, right : right + width - 2]
    return made


def signal_figures(signal: NDArray[Any]) -> Figures:
    """Describe (time, channels): of each channel moments and spectrum, of neighbours their lag.

    Stuck is the share of values that equal the one before; a dead channel has deviation 0. A lag
    is in samples: by so much the second channel follows the first, where they correlate most.
    """
    values = signal.astype(np.float64)[:, :MOST_CHANNELS]
    found: Figures = {}
    long_enough = len(values) >= LEAST_SIDE
    shares = signal_bands(values, len(BANDS)) if long_enough else None
    strongest = dominant_frequency(values) if long_enough else None
    for at, column in enumerate(values.T):
        name = f"channel {at}"
        found |= {
            f"{name} mean": float(column.mean()),
            f"{name} deviation": float(column.std()),
            f"{name} stuck": float((np.diff(column) == 0).mean()) if len(column) > 1 else 0.0,
        }
        if shares is not None and strongest is not None:
            found[f"{name} frequency"] = float(strongest[at])
            found |= {
                f"{name} {band} share": float(it)
                for band, it in zip(BANDS[:2], shares[at], strict=False)
            }
    for at in range(values.shape[1] - 1):
        lag, correlation = lag_of(values[:, at], values[:, at + 1])
        found |= {f"lag {at}-{at + 1}": lag, f"correlation {at}-{at + 1}": correlation}
    return found


def lag_of(first: Floats, second: Floats) -> tuple[float, float]:
    """Find by how many samples the second follows the first, up to a quarter; and how alike then.

    >>> wave = np.sin(np.arange(100) / 5)
    >>> lag_of(wave[3:], wave[:-3])[0]
    3.0
    """
    ours, theirs = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((ours**2).sum() * (theirs**2).sum()))
    if scale == 0 or not np.ptp(first) or not np.ptp(second):  # a mean may miss its last bit
        return float("nan"), 0.0
    size = len(ours)
    spectrum = np.conj(np.fft.rfft(ours, 2 * size)) * np.fft.rfft(theirs, 2 * size)
    every = np.fft.irfft(spectrum, 2 * size) / scale
    lags = np.arange(-(size // 4), size // 4 + 1)
    chosen = int(np.abs(every[lags]).argmax())
    return float(lags[chosen]), float(every[lags[chosen]])


def row_figures(row: NDArray[Any], names: Sequence[str]) -> Figures:
    """Give a table's row by its columns' names; a column without one is named by its place."""
    return {
        names[at] if at < len(names) else f"column {at}": float(value)
        for at, value in enumerate(row.astype(np.float64))
    }
