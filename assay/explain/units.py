"""Columns or channels in another unit: a known factor, or a known pair of factor and offset."""

from collections.abc import Iterator

import numpy as np

from assay.explain.affine import fit_line
from assay.explain.proposal import Proposal, Samples, of_planes
from assay.explain.score import aligned

TOLERANCE = 1e-3  # relative
MIN_VALUES = 12
MAX_CHANNELS = 256
NAMED = 3
# One unit in another, and what people call it. Exact by definition (SI brochure; NIST SP 811).
FACTORS: dict[float, str] = {
    1000.0: "",
    1e6: "",
    100.0: "",
    10.0: "",
    60.0: "minutes and seconds",
    3600.0: "hours and seconds",
    24.0: "days and hours",
    86400.0: "days and seconds",
    3.6: "m/s and km/h",
    1.609344: "miles and km",
    0.3048: "feet and m",
    2.54: "inches and cm",
    25.4: "inches and mm",
    9.80665: "g and m/s2, kgf and N",
    0.45359237: "pounds and kg",
    4.184: "calories and joules",
    6.894757293168361: "psi and kPa",
    101.325: "atmospheres and kPa",
    133.322387415: "mmHg and Pa",
    180 / np.pi: "radians and degrees",
    2 * np.pi: "turns and radians, Hz and rad/s",
    360.0: "turns and degrees",
    1.8: "Kelvin and Rankine",
    0.514444: "knots and m/s",
    1.852: "nautical miles and km",
    3.785411784: "gallons and litres",
    28.349523125: "ounces and grams",
}
PAIRS: dict[tuple[float, float], str] = {
    (1.8, 32.0): "from Celsius to Fahrenheit",
    (1 / 1.8, -32 / 1.8): "from Fahrenheit to Celsius",
    (1.0, 273.15): "from Celsius to Kelvin",
    (1.0, -273.15): "from Kelvin to Celsius",
    (1.8, 32 - 273.15 * 1.8): "from Kelvin to Fahrenheit",
    (1 / 1.8, 273.15 - 32 / 1.8): "from Fahrenheit to Kelvin",
}


def units(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose known units for those channels that changed, each on its own; the others stay."""
    if not aligned(reference, candidate):
        return
    left, right = reference.planes, candidate.planes
    num_channels = left.shape[1]
    if not 1 < num_channels <= MAX_CHANNELS or left[:, 0].size < MIN_VALUES:
        return
    slopes, offsets = np.ones(num_channels), np.zeros(num_channels)
    texts = []
    for channel in range(num_channels):
        x, y = left[:, channel], right[:, channel]
        if np.array_equal(x, y) or np.ptp(x) == 0:
            continue
        found = known(*fit_line(x, y), float(y.std()) + float(np.abs(x).mean()))
        if found is None:
            # A constant channel may have changed too; what has no known unit ends the search.
            return
        slopes[channel], offsets[channel], text = found
        if text:
            texts.append(f"{reference.named(channel)} {text}")
    # One factor for all is no unit of single columns: `affine` says that in fewer words.
    if not texts or (np.ptp(slopes) == 0 and np.ptp(offsets) == 0):
        return
    more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    yield of_planes(
        "unit_ratio",
        "; ".join(texts[:NAMED]) + more,
        lambda p: p * slopes[:, None, None] + offsets[:, None, None],
        cost=1.05 + 0.02 * min(len(texts), 10),
        slopes=[float(v) for v in slopes],
        offsets=[float(v) for v in offsets],
    )


def known(slope: float, offset: float, size: float) -> tuple[float, float, str] | None:
    """Name the units that a line stands for: (slope, offset, text); text "" where it is no change.

    >>> known(1.8000001, 31.9999, 20.0)
    (1.8, 32.0, 'from Celsius to Fahrenheit')
    """
    for (factor, plus), text in PAIRS.items():
        near = abs(slope - factor) <= TOLERANCE * factor
        if near and abs(offset - plus) <= TOLERANCE * (abs(plus) + factor * size):
            return factor, plus, text
    if abs(offset) > TOLERANCE * max(1.0, abs(slope)) * size:
        return None
    if abs(slope - 1) <= TOLERANCE:
        return 1.0, 0.0, ""
    for factor, text in FACTORS.items():
        for value, said in ((factor, f"{factor:.6g}"), (1 / factor, f"1/{factor:.6g}")):
            if abs(slope - value) <= TOLERANCE * value:
                return value, 0.0, f"multiplied by {said}" + (f" ({text})" if text else "")
    return None
