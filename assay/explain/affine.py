"""One slope and one offset for all values: scales, units, offsets, inversion."""

from collections.abc import Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

TOLERANCE = 1e-3  # relative; 1/255 and 1/256 are 4e-3 apart
# Ranges of pixels, SI prefixes, and units that sensors are confused in.
SLOPES = {
    name: value
    for base, text in (
        (2.0, "2"), (10.0, "10"), (16.0, "16"), (100.0, "100"), (127.5, "127.5"), (128.0, "128"),
        (255.0, "255"), (256.0, "256"), (1000.0, "1000"), (65535.0, "65535"), (1e6, "1000000"),
        (60.0, "60"), (3.6, "3.6"), (1.8, "9/5"), (180 / np.pi, "180/pi"), (9.80665, "9.80665"),
        (257.0, "257"), (1.609344, "1.609344"), (0.3048, "0.3048"),
    )
    for name, value in ((text, base), (f"1/({text})" if "/" in text else f"1/{text}", 1 / base))
} | {"1": 1.0, "256/255": 256 / 255, "255/256": 255 / 256}  # fmt: skip
LOOSE = 0.03  # relative, where the line is not exact anyway
EXACT = 1e-4  # of the variation may be left by a line that is exact
MAX_TRIMMED = 1 << 12  # values that a trimmed line is fitted to
PILED_UP = 0.95  # of the values lie between the extremes, or fewer
OFFSETS = (0.0, 0.5, 1.0, 16.0, 32.0, 127.5, 128.0, 255.0, 273.15, 1000.0)


def fit_line(x: Array, y: Array) -> tuple[float, float]:
    """Fit y = slope x + offset by least squares; slope 0 where x does not vary."""
    mean_x, mean_y = float(x.mean()), float(y.mean())
    variance = float(((x - mean_x) ** 2).sum())
    slope = float(((x - mean_x) * (y - mean_y)).sum()) / variance if variance > 0 else 0.0
    return slope, mean_y - slope * mean_x


def fit_line_trimmed(x: Array, y: Array, kept: float = 0.7, rounds: int = 8) -> tuple[float, float]:
    """Fit a line to the values that follow it best, as where others are clipped or filled in."""
    step = max(1, x.size // MAX_TRIMMED)
    x, y = x.ravel()[::step], y.ravel()[::step]
    slope, offset = fit_line(x, y)
    for _ in range(rounds):
        error = np.abs(y - slope * x - offset)
        near = error <= np.quantile(error, kept)
        slope, offset = fit_line(x[near], y[near])
    return slope, offset


def snap(
    slope: float, offset: float, spread: float, unit: float
) -> tuple[float, float, str] | None:
    """Take known constants within the tolerance: (slope, offset, name of the slope), or None.

    Args:
        slope: fitted.
        offset: fitted, in the units of the candidate.
        spread: of the candidate, which an offset's tolerance is relative to.
        unit: the size of the reference's values: an error of the slope shifts the offset by that.
    """
    for name, known in SLOPES.items():
        if abs(abs(slope) - known) > TOLERANCE * known:
            continue
        signed = float(np.copysign(known, slope))
        slack = TOLERANCE * (spread + known * unit)
        for offset_known in (o * sign for o in OFFSETS for sign in (1.0, -1.0)):
            # Half of the size of an offset is no tolerance for it, however wide the spread.
            if abs(offset - offset_known) <= min(slack, 0.05 * offset_known or slack):
                return signed, offset_known, name
        return signed, offset, name
    return None


def affine(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the line through all values, snapped to known constants, plain and trimmed."""
    if not aligned(reference, candidate) or reference.values.size < 20:  # noqa: PLR2004
        return
    x, y = reference.values, candidate.values
    inside = (y > y.min()) & (y < y.max())
    lines = [fit_line(x, y), fit_line_trimmed(x, y)]
    # Where values pile up at a bound they were clipped there: the others show the line.
    if inside.any() and inside.mean() < PILED_UP:
        lines.append(fit_line(x[inside], y[inside]))
    spread, unit = float(y.std()), float(np.abs(x).mean())
    for slope, offset in lines:
        if slope == 0:
            continue
        known = snap(slope, offset, spread, unit)
        if known is not None:
            yield _propose(*known, 1.0 if abs(known[1]) in OFFSETS else 1.1)
            continue
        nothing = TOLERANCE * (spread + abs(slope) * unit)
        yield _propose(slope, 0.0 if abs(offset) <= nothing else offset, f"{abs(slope):.6g}", 1.3)
    left = float(((y - lines[0][0] * x - lines[0][1]) ** 2).mean())
    yield from _nearly(lines[0], spread, unit, left)


def _nearly(
    line: tuple[float, float], spread: float, unit: float, error: float
) -> Iterator[Proposal]:
    """Propose a known factor near a line that is not exact, as behind a blur or a rounding."""
    slope, offset = line
    if error <= EXACT * spread**2 or abs(offset) > LOOSE * (spread + abs(slope) * unit):
        return
    near = {name: abs(abs(slope) / known - 1) for name, known in SLOPES.items()}
    name = min(near, key=near.__getitem__)
    if TOLERANCE < near[name] <= LOOSE and name != "1":
        yield _propose(float(np.copysign(SLOPES[name], slope)), 0.0, name, 1.15)


def _propose(slope: float, offset: float, slope_text: str, cost: float) -> Proposal:
    sign = "-" if offset < 0 else "+"
    size = f"{abs(offset):.6g}"
    if slope < 0:
        kind = "invert"
        times = "" if slope_text == "1" else f"{slope_text} "
        name = f"inverted (x -> {offset:.6g} - {times}x)"
    elif slope == 1:
        kind, name = "offset", f"{size} {'subtracted' if offset < 0 else 'added'}"
    elif offset == 0:
        kind, name = "scale", f"multiplied by {slope_text}"
    else:
        kind, name = "affine", f"rescaled (x -> {slope_text} x {sign} {size})"
    parameters = {"slope": slope, "offset": offset}
    return of_planes(kind, name, lambda p: slope * p + offset, cost=cost, **parameters)
