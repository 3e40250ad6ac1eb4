"""Interventions on input tensors: one property of the field's data undone, or made in simulation.

Each proposal is one function on rows. Statistics come from rows that are not judged, and only
what differs between the domains is proposed, beside a few that no statistic shows (a picture
turned, channels exchanged). What a proposal costs or regains is measured elsewhere, by asking the
model. Of proposals that regain the same the simpler one is the better explanation, and of equally
simple ones that which brings the distributions closer: both stand in `simplicity`, lower is
simpler.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.domains import Domains
from assay.tensor_axes import Values

Domain = Literal["real", "sim"]
Family = Literal["align", "rearrange", "restore", "ablate", "transplant", "lag", "reproduce"]
Apply = Callable[[Values], Values]
Curve = Callable[[Values], Values]  # of the values of one channel

# Units that are mistaken for each other: metres, grams and g, degrees, miles, feet, calories, ...
RATIOS = {
    "1000": 1000.0,
    "100": 100.0,
    "10": 10.0,
    "9.81 (g and m/s²)": 9.80665,
    "180/π (degrees and radians)": 180 / np.pi,
    "2π": 2 * np.pi,
    "60": 60.0,
    "3.6 (km/h and m/s)": 3.6,
    "3.281 (feet and metres)": 3.28084,
    "2.54 (inches and cm)": 2.54,
    "25.4 (inches and mm)": 25.4,
    "1.609 (miles and km)": 1.609344,
    "2.205 (pounds and kg)": 2.204623,
    "1.8 (Fahrenheit and Celsius)": 1.8,
    "4.184 (calories and joules)": 4.184,
    "6.895 (psi and kPa)": 6.894757,
    "255": 255.0,
    "2": 2.0,
}
SNAP = 0.03  # in the logarithm

SINGLE, PLAIN, FITTED, FILTERED, MATCHED, WHOLE = 10, 20, 30, 40, 60, 80
BURNT = "sim-burnt"  # the key of simulation cut off at white, as nothing brings that back
MISFIT = 25  # what an explanation loses that brings the distributions no closer


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One alteration."""

    key: str
    title: str
    kind: str
    domain: Domain
    family: Family
    simplicity: int
    apply: Apply
    back: Apply | None = None  # what it undoes, where that is as simple
    where: str | None = None
    lag: int | None = None
    evidence: tuple[str, ...] = ()
    makes: str | None = (
        None  # the key of the alteration of real rows that this undoes in simulation
    )
    claims: bool = True  # it would explain the loss; else it is shown beside those that would


def snapped(ratio: float) -> tuple[float, str | None]:
    """Take a ratio for a known one where it is as near as 3 %; give its name.

    >>> snapped(0.00101)
    (0.001, '1/1000')
    >>> snapped(1.3)
    (1.3, None)
    """
    known = RATIOS | {f"1/{name}": 1 / value for name, value in RATIOS.items()}
    name = min(known, key=lambda one: abs(np.log(ratio / known[one])))
    return (known[name], name) if abs(np.log(ratio / known[name])) <= SNAP else (ratio, None)


def channel_sets(
    order: list[int], num_channels: int, *, sensors: bool = True
) -> list[tuple[int, ...]]:
    """List the sets of channels that are worth a try, the smallest first.

    Those that differ most one by one and together; the three axes of a sensor together, where
    channels come in threes and two of them differ; and all that differ. Columns of a table are no
    sensors.

    >>> channel_sets([1, 0], 6)
    [(1,), (0,), (0, 1, 2), (0, 1)]
    """
    sets: list[tuple[int, ...]] = [(at,) for at in order[:4]]
    if sensors and num_channels % 3 == 0 and num_channels > 1:
        triads = [at // 3 for at in order]
        sets += [
            (3 * it, 3 * it + 1, 3 * it + 2) for it in sorted({*triads}) if triads.count(it) > 1
        ]
    sets += [tuple(sorted(order[:many])) for many in (2, 3, 4)]
    sets.append(tuple(sorted(order)))
    return list(dict.fromkeys(one for one in sets if one))


def is_sensor(channels: tuple[int, ...]) -> bool:
    """Tell whether these are three axes side by side: one sensor counts as one place."""
    start = channels[0]
    return start % 3 == 0 and channels == (start, start + 1, start + 2)


def plainness(
    base: int, channels: tuple[int, ...], misfit: float = 0.0, *, sensors: bool = True
) -> int:
    """Give the simplicity of an explanation about so many channels that leaves so much over."""
    many = 0 if sensors and is_sensor(channels) else min(8, len(channels) - 1)
    return base + many + round(MISFIT * min(1.5, misfit))


def misfit(domains: Domains, channels: Iterable[int], curves: dict[int, Curve]) -> float:
    """Say how much of the distance of the quantiles is left: 0 none, 1 all of it.

    What is left counts by itself too, in deviations: of a large shift a wrong shape is little.
    """
    ours, theirs = domains.quantiles
    left = before = 0.0
    for at in channels:
        spread = max(float(domains.deviations[0][at]), 1e-12)
        made = np.sort(curves[at](theirs[at]))  # a sign that is turned turns their order
        left += float(np.abs(made - ours[at]).mean()) / spread
        before += float(np.abs(theirs[at] - ours[at]).mean()) / spread
    if before == 0:
        return 0.0
    return left / before + left / len(curves)


def curved(curves: dict[int, Curve]) -> Apply:
    """Apply a curve to each of some channels."""

    def apply(values: Values) -> Values:
        made = values.copy()
        for at, curve in curves.items():
            made[:, at] = curve(values[:, at])
        return made

    return apply


def straight(slope: float, offset: float) -> Curve:
    """Give x -> slope x + offset."""
    return lambda values: slope * values + offset


def through(given: Values, wanted: Values) -> Curve:
    """Give the monotone curve that takes one channel's quantiles to another's.

    Beyond the outermost quantiles it goes on with slope 1.
    """
    xs, places = np.unique(given, return_index=True)
    ys = wanted[places]

    def curve(values: Values) -> Values:
        inside = np.interp(values, xs, ys)
        made: Values = inside + np.minimum(0, values - xs[0]) + np.maximum(0, values - xs[-1])
        return made

    return curve
