"""Do two sets of features differ that are too many for a matrix of pairs? All rows, in one pass."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.deals import deal_groups
from assay.mmd import TIE

FREQUENCIES = 256
MAX_UNITS = 2000  # a side: what is dealt; more groups are packed together at random
LEAST_UNITS = 200  # a side, where it has so many groups: few large units deal coarsely
DOUBLINGS = (0, 2, 4)  # of the angle at 4 times the median: bandwidths of 4, 1 and 1/4 of it
MEDIAN_AT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedMMD:
    """What `streamed_mmd_test` found, of all rows.

    `mmd2` is at the bandwidth that was given; `mmd2_error` is its standard error for having drawn
    finitely many frequencies. `p_value` is of three bandwidths together, as `mmd_test`'s is.
    """

    mmd2: float
    mmd2_error: float
    p_value: float
    smallest_p_value: float
    num_sim: int
    num_real: int
    num_units_sim: int
    num_units_real: int


class EmbeddedSums:
    """Random Fourier features of the rows seen so far, summed by unit: parts can be merged.

    A Gaussian kernel is the mean of cos(w.(x - y)) over normal frequencies w (Rahimi and Recht
    2007), so that sums of cos(w.x) and sin(w.x) hold the mean kernel between any two sets of units
    (Zhao and Meng 2015 use it for MMD). Sums of the same width, bandwidth, number and seed merge.

    Memory: num_units x 6 x num_frequencies float64, 25 MB at 2000 and 256; time
    rows x width x num_frequencies.
    """

    def __init__(
        self,
        width: int,
        bandwidth: float,
        num_units: int,
        *,
        num_frequencies: int = FREQUENCIES,
        seed: int = 0,
    ) -> None:
        generator = np.random.default_rng(seed)
        drawn = generator.standard_normal((width, num_frequencies), dtype=np.float32)
        self._frequencies = drawn / np.float32(4 * bandwidth)
        self.counts = np.zeros(num_units, dtype=np.int64)
        # bandwidths (4, 1, 1/4 of the one given), units, cosines and sines, frequencies
        self.sums = np.zeros((len(DOUBLINGS), num_units, 2, num_frequencies))

    def update(self, rows: NDArray[Any], units: NDArray[np.intp]) -> None:
        """Add (rows, width), finite, of the stated (rows,) units."""
        order = np.argsort(units, kind="stable")
        ordered = units[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        angles = rows[order].astype(np.float32) @ self._frequencies
        cosines, sines = np.cos(angles), np.sin(angles)
        for at in range(len(DOUBLINGS)):
            for part, values in enumerate((cosines, sines)):
                self.sums[at, ordered[starts], part] += np.add.reduceat(values, starts)
            for _ in range(2):  # cos 2a and sin 2a, twice: a quarter of the bandwidth
                cosines, sines = 2 * cosines * cosines - 1, 2 * sines * cosines
        self.counts += np.bincount(units, minlength=len(self.counts))

    def merge(self, other: "EmbeddedSums") -> None:
        """Add what another part has seen, unit by unit."""
        self.counts += other.counts
        self.sums += other.sums


def pack_groups(
    groups: NDArray[np.intp], num_other: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Give (rows,) unit numbers 0, 1, ...: whole groups, packed at random where they are many.

    Units of both sides hold equally many groups, and so stay exchangeable where groups are, unless
    one side has over ten times the other's groups: then its units hold more, and dealing them is
    approximate, as it is for groups of unequal sizes.

    Args:
        groups: (rows,) group numbers 0, 1, ... of this side.
        num_other: groups of the other side.
        generator: of the packing.
    """
    num = int(groups.max()) + 1
    together = -(-max(num, num_other) // MAX_UNITS)
    together = min(together, max(1, num // LEAST_UNITS))
    together = max(together, -(-num // MAX_UNITS))
    return np.asarray((generator.permutation(num) // together)[groups])


def streamed_mmd_test(
    sim: Iterable[NDArray[Any]],
    real: Iterable[NDArray[Any]],
    sim_units: NDArray[np.intp],
    real_units: NDArray[np.intp],
    *,
    bandwidth: float,
    num_permutations: int = 199,
    seed: int = 0,
    num_frequencies: int = FREQUENCIES,
) -> StreamedMMD:
    """Test whether sim and real features have one distribution, reading every row once.

    As `mmd_test`, with kernels that are means over drawn frequencies. Whatever was drawn, all
    arrangements are treated alike, so the level is as exact; only what `mmd2` estimates is off, by
    `mmd2_error`. Memory does not grow with the rows; see `EmbeddedSums`.

    Args:
        sim: blocks of (rows, width), finite, in the order of `sim_units`.
        real: the same.
        sim_units: (rows,) numbers 0, 1, ... of what is dealt as a whole, see `pack_groups`.
        real_units: the same.
        bandwidth: the median distance of a sample, in the units of the features.
        num_permutations: B.
        seed: of frequencies and arrangements.
        num_frequencies: of each bandwidth.
    """
    sides = [
        _summed(blocks, units, bandwidth, num_frequencies, seed)
        for blocks, units in ((sim, sim_units), (real, real_units))
    ]
    sizes = np.concatenate([side.counts for side in sides])
    sums = np.concatenate([side.sums for side in sides], axis=1)
    num_units_sim = len(sides[0].counts)
    generator = np.random.default_rng(seed + 1)
    dealt, smallest = deal_groups(sizes, num_units_sim, num_permutations, generator)
    indicator = dealt.astype(np.float64)
    num_sim = sizes @ indicator
    num_real = sizes.sum() - num_sim
    stack = np.stack(
        [_mmd2(of.reshape(len(sizes), -1), indicator, num_sim, num_real) for of in sums]
    )
    spread = stack.std(axis=1, keepdims=True)
    standardised = (stack - stack.mean(axis=1, keepdims=True)) / np.maximum(spread, 1e-12)
    largest = standardised.max(axis=0)
    num_as_large = int((largest[1:] >= largest[0] - TIE).sum())
    observed = [side.sums[MEDIAN_AT].sum(axis=0) for side in sides]
    each = _by_frequency(observed, int(num_sim[0]), int(num_real[0]))
    return StreamedMMD(
        mmd2=float(each.mean()),
        mmd2_error=float(each.std(ddof=1) / np.sqrt(len(each))),
        p_value=(1 + num_as_large) / len(largest),
        smallest_p_value=smallest,
        num_sim=int(num_sim[0]),
        num_real=int(num_real[0]),
        num_units_sim=num_units_sim,
        num_units_real=len(sizes) - num_units_sim,
    )


def _summed(
    blocks: Iterable[NDArray[Any]],
    units: NDArray[np.intp],
    bandwidth: float,
    num_frequencies: int,
    seed: int,
) -> EmbeddedSums:
    made, start = None, 0
    for rows in blocks:
        if made is None:
            made = EmbeddedSums(
                rows.shape[1],
                bandwidth,
                int(units.max()) + 1,
                num_frequencies=num_frequencies,
                seed=seed,
            )
        made.update(rows, units[start : start + len(rows)])
        start += len(rows)
    if made is None or start != len(units):
        raise ValueError(f"one unit a row: {start} rows, {len(units)} units")
    return made


def _mmd2(
    sums: NDArray[np.float64],
    indicator: NDArray[np.float64],
    num_sim: NDArray[np.float64],
    num_real: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give (arrangements,) unbiased MMD^2 of (units, cosines and sines of all frequencies)."""
    num_frequencies = sums.shape[1] // 2
    in_sim = indicator.T @ sums
    in_real = sums.sum(axis=0) - in_sim
    # A row's kernel with itself is 1: those pairs are taken off.
    within_sim = (in_sim**2).sum(axis=1) / num_frequencies - num_sim
    within_real = (in_real**2).sum(axis=1) / num_frequencies - num_real
    between = (in_sim * in_real).sum(axis=1) / num_frequencies
    return np.asarray(
        within_sim / np.maximum(num_sim * (num_sim - 1), 1)
        + within_real / np.maximum(num_real * (num_real - 1), 1)
        - 2 * between / (num_sim * num_real)
    )


def _by_frequency(
    sums: list[NDArray[np.float64]], num_sim: int, num_real: int
) -> NDArray[np.float64]:
    """Give (frequencies,) unbiased MMD^2 of the observed sides, each of one frequency alone."""
    sim, real = sums
    within_sim = (sim**2).sum(axis=0) - num_sim
    within_real = (real**2).sum(axis=0) - num_real
    between = (sim * real).sum(axis=0)
    return np.asarray(
        within_sim / max(num_sim * (num_sim - 1), 1)
        + within_real / max(num_real * (num_real - 1), 1)
        - 2 * between / (num_sim * num_real)
    )
