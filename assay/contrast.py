"""One figure of each sample, in simulation and in the field: by how much it differs, how surely.

Numbers: the effect is the chance that a real value lies above a simulated one (0.5: as often as
below; Mann and Whitney 1947), bounded by a bootstrap over whole groups of both sides. The distance
is the largest gap between the two distribution functions (Kolmogorov and Smirnov), which also sees
a change of spread. Words: the distance is the total variation of the shares. Both are tested by
dealing whole groups to the two sides, as rows of one session are alike (`assay.deals`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.deals import deal_groups
from assay.intervals import Interval, few_units

Floats = NDArray[np.float64]

LEAST = 2  # values a side
SCREEN = 499  # deals that each figure gets
LOOK_AGAIN = 0.02  # from so small a p on, it gets all
BLOCK_ENTRIES = 1 << 22
TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One figure, sim against real. Means and deviations are None for words."""

    name: str
    mean_sim: float | None
    mean_real: float | None
    std_sim: float | None
    std_real: float | None
    effect: Interval | None
    distance: float  # 0 alike, 1 apart
    p_value: float
    smallest_p_value: float  # the least that so few groups allow
    num_sim: int
    num_real: int


@dataclass(frozen=True, slots=True)
class Units:
    """Rows by the group that they fall in, those of sim first."""

    sim: NDArray[np.intp]
    real: NDArray[np.intp]

    @classmethod
    def of(cls, sim: NDArray[Any], real: NDArray[Any]) -> "Units":
        """Number the groups; a name on both sides is two groups."""
        ours, theirs = (np.unique(groups, return_inverse=True)[1] for groups in (sim, real))
        return cls(ours, theirs)


def contrast(
    name: str,
    sim: NDArray[Any],
    real: NDArray[Any],
    sim_groups: NDArray[Any],
    real_groups: NDArray[Any],
    *,
    num_permutations: int = 9999,
    num_draws: int = 1000,
    seed: int = 0,
) -> Contrast | None:
    """Compare one figure; None where a side has fewer than two values.

    Args:
        name: of the figure.
        sim: (rows,) numbers, of which those that are not finite are left out, or words.
        real: the same.
        sim_groups: (rows,).
        real_groups: (rows,).
        num_permutations: deals of whole groups; where the first 499 show nothing, no more are made.
        num_draws: of the bootstrap.
        seed: of both.
    """
    words = sim.dtype.kind not in "biuf"
    kept = [np.ones(len(side), bool) if words else np.isfinite(side) for side in (sim, real)]
    sim, real = sim[kept[0]], real[kept[1]]
    if min(len(sim), len(real)) < LEAST:
        return None
    units = Units.of(sim_groups[kept[0]], real_groups[kept[1]])
    pooled = np.concatenate([sim, real])
    measure = _total_variation if words else _largest_gap
    distance, p_value, smallest = _tested(measure, pooled, units, num_permutations, seed)
    found = Contrast(
        name=name,
        mean_sim=None,
        mean_real=None,
        std_sim=None,
        std_real=None,
        effect=None,
        distance=distance,
        p_value=p_value,
        smallest_p_value=smallest,
        num_sim=len(sim),
        num_real=len(real),
    )
    if words:
        return found
    ours, theirs = sim.astype(np.float64), real.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # values as large as floats go have no sum
        return replace(
            found,
            mean_sim=float(ours.mean()),
            mean_real=float(theirs.mean()),
            std_sim=float(ours.std()),
            std_real=float(theirs.std()),
            effect=_above(ours, theirs, units, num_draws, seed),
        )


Measure = Callable[[NDArray[Any], NDArray[np.bool_]], Floats]


def _tested(
    measure: Measure, values: NDArray[Any], units: Units, num: int, seed: int
) -> tuple[float, float, float]:
    """Return the distance, its p, and the least p that the groups allow.

    A p above what screens is left as it is: a second look could only be a chance to make it small,
    and a small one is that of the second look alone, so that both are valid.
    """
    dealt, smallest = _dealt(units.sim.tobytes(), units.real.tobytes(), min(num, SCREEN), seed)
    distances = measure(values, dealt)
    p_value = _p(distances)
    if p_value <= LOOK_AGAIN and num > SCREEN and dealt.shape[1] > SCREEN:
        dealt, smallest = _dealt(units.sim.tobytes(), units.real.tobytes(), num, seed + 1)
        p_value = _p(measure(values, dealt))
    elif dealt.shape[1] > SCREEN:
        every = len(np.unique(units.sim)) + len(np.unique(units.real))
        arrangements = comb(every, len(np.unique(units.sim)))
        smallest = max(1 / (1 + num), 1 / arrangements)
    return float(distances[0]), p_value, smallest


def _p(distances: Floats) -> float:
    return (1 + int((distances[1:] >= distances[0] - TIE).sum())) / len(distances)


@lru_cache(maxsize=4)  # the figures of one set of samples share their groups
def _dealt(sim: bytes, real: bytes, num: int, seed: int) -> tuple[NDArray[np.bool_], float]:
    """Give (rows, 1 + B), True where a row is dealt to sim; the first column is as observed."""
    ours, theirs = np.frombuffer(sim, np.intp), np.frombuffer(real, np.intp)
    num_sim = int(ours.max()) + 1
    every = np.concatenate([ours, theirs + num_sim])
    sizes = np.bincount(every)
    if min(num_sim, len(sizes) - num_sim) < LEAST:
        # One group against others: no arrangement tells the group from the domain.
        observed = np.arange(len(sizes)) < num_sim
        return observed[every][:, None], 1.0
    dealt, smallest = deal_groups(sizes, num_sim, num, np.random.default_rng(seed))
    return dealt[every], smallest


def _largest_gap(values: NDArray[Any], dealt: NDArray[np.bool_]) -> Floats:
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(values[order]) != 0, True))
    found = np.empty(dealt.shape[1])
    step = max(1, BLOCK_ENTRIES // len(values))
    for start in range(0, dealt.shape[1], step):
        below = np.cumsum(dealt[order, start : start + step], axis=0, dtype=np.int32)
        num_sim = below[-1]
        num_real = len(values) - num_sim
        # below / num_sim - (ends + 1 - below) / num_real, in one pass over the large array
        gaps = below[ends] * (1 / num_sim + 1 / num_real) - (ends + 1)[:, None] / num_real
        found[start : start + step] = np.abs(gaps).max(axis=0)
    return found


def _total_variation(values: NDArray[Any], dealt: NDArray[np.bool_]) -> Floats:
    _, places = np.unique(values, return_inverse=True)
    member = np.eye(int(places.max()) + 1)[places]
    sim = dealt.astype(np.float64)
    ours, theirs = member.T @ sim, member.T @ (1 - sim)
    gaps = np.abs(ours / ours.sum(axis=0) - theirs / theirs.sum(axis=0))
    total: Floats = gaps.sum(axis=0) / 2
    return total


def _above(sim: Floats, real: Floats, units: Units, num_draws: int, seed: int) -> Interval:
    """Bound the chance that a real value lies above a simulated one; ties count half."""
    wins = _wins(sim, real, units)
    sizes = np.bincount(units.sim), np.bincount(units.real)
    generator = np.random.default_rng(seed)
    counts = [
        generator.multinomial(len(side), np.full(len(side), 1 / len(side)), num_draws)
        for side in sizes
    ]
    pairs = (counts[0] @ sizes[0]) * (counts[1] @ sizes[1])
    draws = ((counts[0] @ wins) * counts[1]).sum(axis=1) / pairs
    value = float(wins.sum() / (len(sim) * len(real)))
    num_units = min(map(len, sizes))
    low, high = value + few_units(num_units) * (np.quantile(draws, [0.025, 0.975]) - value)
    grouped = num_units < min(len(sim), len(real))
    return Interval(
        value=value,
        low=float(low),
        high=float(high),
        n=min(len(sim), len(real)),
        resampled="groups" if grouped else "rows",
        num_units=num_units,
    ).within(0, 1)


def _wins(sim: Floats, real: Floats, units: Units) -> Floats:
    """Count, for each group of sim and of real, the pairs in which the real value is above."""
    num_real = int(units.real.max()) + 1
    columns = np.empty((len(sim), num_real))
    for group in range(num_real):
        values = np.sort(real[units.real == group])
        below = np.searchsorted(values, sim, side="left")
        until = np.searchsorted(values, sim, side="right")
        columns[:, group] = len(values) - until + (until - below) / 2
    wins = np.zeros((int(units.sim.max()) + 1, num_real))
    np.add.at(wins, units.sim, columns)
    return wins
