"""Do two sets of features differ, and by how much? The kernel two-sample test over whole groups."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.deals import deal_groups

# Around the median distance (Gretton et al. 2012): narrow ones see local, wide ones global change.
BANDWIDTH_FACTORS = (0.25, 1.0, 4.0)
BLOCK = 250  # rows of the kernel at a time: what is made of them stays in the processor's cache
# Closer than this, in standard deviations of the null, is a tie: float32 sums differ by less.
TIE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class MMDResult:
    """What `mmd_test` found.

    `mmd2` and `null_quantile_95` are at the median bandwidth and can be drawn beside each other;
    `p_value` is of all bandwidths together, so it may be small where these two look alike.
    `smallest_p_value` is the least that the arrangements allow: where it exceeds the level, the
    test cannot fire and silence means nothing. `bandwidths` are in the units of the features.
    `effect` is the chance in [0, 1] that a held-out sim row is told from a held-out real one (0.5:
    not at all, 1: always); None where one side has a single group. `median_distance` is between
    two rows of either side.
    """

    mmd2: float
    p_value: float
    smallest_p_value: float
    null_quantile_95: float
    median_distance: float
    bandwidths: tuple[float, ...]
    mmd2_bandwidths: tuple[float, ...]
    num_sim: int
    num_real: int
    num_groups_sim: int
    num_groups_real: int
    num_permutations: int
    permuted: Literal["groups", "rows"]
    effect: float | None


def mmd_test(
    sim: ArrayLike,
    real: ArrayLike,
    sim_groups: ArrayLike | None,
    real_groups: ArrayLike | None,
    *,
    num_permutations: int = 199,
    seed: int = 0,
    max_rows: int = 1000,
    bandwidth_factors: tuple[float, ...] = BANDWIDTH_FACTORS,
) -> MMDResult:
    """Test whether sim and real features have one distribution, re-dealing whole groups.

    The statistic is the unbiased MMD^2 (Gretton et al. 2012) under Gaussian kernels of three
    bandwidths, each standardised by mean and deviation over all arrangements, the observed one
    included, and the largest taken (aggregation as in Schrab et al. 2023; its level is exact
    because all arrangements are treated alike). p = (1 + k) / (B + 1) (Phipson and Smyth 2010).

    How groups are dealt: they are shuffled and go to the sim side one by one while that brings its
    number of rows closer to the original; the rest is real. Groups of one size keep both numbers of
    rows and of groups, and the test is exact for exchangeable groups; with unequal sizes it is
    approximate. With equal sizes and no more arrangements than `num_permutations` all are taken.

    Equal labels on the two sides are different groups. Features are used as they come:
    standardising by one side would bias the test.

    Args:
        sim: (sim rows, ...) finite numbers, flattened to features; two rows or more.
        real: (real rows, ...) of the same width.
        sim_groups: (sim rows,) labels of what rises and falls together; None: rows are independent.
        real_groups: the same for real.
        num_permutations: B.
        seed: of the subsample and the arrangements.
        max_rows: a side; more are subsampled without replacement. Memory is about
            (2 max_rows)^2 x 20 bytes + 2 max_rows x B x 8 bytes: 80 MiB at 1000 rows and B = 199.
        bandwidth_factors: of the median distance; 1 is among them.

    Raises:
        ValueError: widths differ, a side has under two rows, or a value is not finite.
    """
    generator = np.random.default_rng(seed)
    sim_rows, sim_units = _side(sim, sim_groups, max_rows, generator)
    real_rows, real_units = _side(real, real_groups, max_rows, generator)
    if sim_rows.shape[1] != real_rows.shape[1]:
        raise ValueError(
            f"widths differ: {sim_rows.shape[1]} sim, {real_rows.shape[1]} real features"
        )
    units = np.concatenate([sim_units, real_units + sim_units.max() + 1])
    sizes = np.bincount(units)
    num_sim, num_groups_sim = len(sim_rows), int(sim_units.max()) + 1
    dealt, smallest = deal_groups(sizes, num_groups_sim, num_permutations, generator)
    indicator = dealt[units].astype(np.float32)

    squared, unit = _squared_distances(np.concatenate([sim_rows, real_rows]))
    median = _median_distance(squared)
    bandwidths = tuple(factor * median for factor in bandwidth_factors)
    stack = np.empty((len(bandwidths), indicator.shape[1]))
    effect, median_at = None, bandwidth_factors.index(1.0)
    for at, bandwidth in enumerate(bandwidths):
        factor = np.float32(-0.5 / bandwidth**2)
        if at == median_at:
            effect = _separation(np.exp(squared * factor), units, num_groups_sim, generator)
        stack[at] = _mmd2_of_arrangements(squared, factor, indicator)

    spread = stack.std(axis=1, keepdims=True)
    # Less than float32 resolves of a kernel in [0, 1] is no spread: nothing varies there.
    standardised = np.where(spread > 1e-7, stack - stack.mean(axis=1, keepdims=True), 0.0)  # noqa: PLR2004
    standardised /= np.maximum(spread, 1e-7)
    largest = standardised.max(axis=0)
    num_as_large = int((largest[1:] >= largest[0] - TIE).sum())
    return MMDResult(
        mmd2=float(stack[median_at, 0]),
        p_value=(1 + num_as_large) / len(largest),
        smallest_p_value=smallest,
        null_quantile_95=float(np.quantile(stack[median_at, 1:], 0.95)),
        median_distance=median * unit,
        bandwidths=tuple(bandwidth * unit for bandwidth in bandwidths),
        mmd2_bandwidths=tuple(map(float, stack[:, 0])),
        num_sim=num_sim,
        num_real=len(real_rows),
        num_groups_sim=num_groups_sim,
        num_groups_real=len(sizes) - num_groups_sim,
        num_permutations=len(largest) - 1,
        permuted="rows" if int(sizes.max()) == 1 else "groups",
        effect=effect,
    )


def _side(
    features: ArrayLike, groups: ArrayLike | None, max_rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Give (rows, features) and the (rows,) group numbers 0, 1, ... of at most `max_rows` rows."""
    rows: NDArray[Any] = np.asarray(features)
    if rows.ndim == 0 or len(rows) < 2:  # noqa: PLR2004
        raise ValueError(f"a two-sample test needs two rows a side: shape {rows.shape}")
    labels: NDArray[Any] = np.arange(len(rows)) if groups is None else np.asarray(groups)
    if labels.shape != (len(rows),):
        raise ValueError(f"one group a row: {len(rows)} rows, groups of shape {labels.shape}")
    if len(rows) > max_rows:
        kept = np.sort(generator.choice(len(rows), max_rows, replace=False))
        rows, labels = rows[kept], labels[kept]
    flat = rows.reshape(len(rows), -1).astype(np.float64)
    if not np.isfinite(flat).all():
        raise ValueError("a two-sample test needs finite features: leave the other rows out first")
    return flat, np.unique(labels, return_inverse=True)[1]


def _squared_distances(rows: NDArray[np.float64]) -> tuple[NDArray[np.float32], float]:
    """Give (rows, rows) squared distances over their mean, and the root of that mean.

    Over their mean, so that float32 holds features of any unit.
    """
    centred = rows - rows.mean(axis=0)  # distances ignore the origin; float64 sums do not
    norms = np.einsum("rf,rf->r", centred, centred)
    scale = 2 * float(norms.mean())  # the mean of the squared distances, as the centre is 0
    unit = scale if scale > 0 else 1.0
    centred /= np.sqrt(unit)
    norms /= unit
    squared = np.empty((len(rows), len(rows)), dtype=np.float32)
    for start in range(0, len(rows), BLOCK):
        stop = start + BLOCK
        block = centred[start:stop] @ centred[start:].T
        block *= -2
        block += norms[start:stop, None]
        block += norms[start:]
        # Rounding leaves some 1e-16 of the norms between equal rows: that is a distance of nothing.
        block[block < 1e-12] = 0.0  # noqa: PLR2004
        squared[start:stop, start:] = block
        squared[start:, start:stop] = squared[start:stop, start:].T
    return squared, float(np.sqrt(unit))


def _median_distance(squared: NDArray[np.float32]) -> float:
    off_diagonal = np.concatenate([row[at + 1 :] for at, row in enumerate(squared)])
    # The upper of two middle ones where the count is even: a third of the time of np.median.
    middle = len(off_diagonal) // 2
    median = float(np.sqrt(np.partition(off_diagonal, middle)[middle]))
    if median > 0:
        return median
    # Over half of the pairs are equal (sparse features): take the others' mean.
    positive = off_diagonal[off_diagonal > 0]
    return float(np.sqrt(positive.mean())) if len(positive) else 1.0


def _mmd2_of_arrangements(
    squared: NDArray[np.float32], factor: np.float32, indicator: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Give (arrangements,) unbiased MMD^2 by products of the kernel and the indicator matrix.

    The kernel is exp(factor * squared). It is symmetric: a block of its rows, right of the
    diagonal, takes half of the multiplications that the whole would, (rows)^2 x arrangements.
    A constant added to all pairs cancels in MMD^2, so one near the mean is taken off first: what
    is left is small, and float32 loses nothing that matters.
    """
    num_rows, level = len(squared), np.float32(0)
    sums, within_sim = np.zeros(num_rows), np.zeros(indicator.shape[1])
    for start in range(0, num_rows, BLOCK):
        own = indicator[start : start + BLOCK]
        kernel = np.exp(squared[start : start + BLOCK, start:] * factor)
        if start == 0:
            level = np.float32(kernel.mean(dtype=np.float64))
        kernel -= level
        np.fill_diagonal(kernel, 0.0)
        beside = kernel[:, len(own) :]  # every pair of these stands here once and counts twice
        sums[start : start + BLOCK] += kernel.sum(axis=1, dtype=np.float64)
        sums[start + BLOCK :] += beside.sum(axis=0, dtype=np.float64)
        beside *= 2
        within_sim += np.einsum("ra,ra->a", kernel @ indicator[start:], own, dtype=np.float64)
    between = sums @ indicator - within_sim
    within_real = sums.sum() - within_sim - 2 * between
    num_sim = indicator.sum(axis=0, dtype=np.float64)
    num_real = num_rows - num_sim
    return np.asarray(
        within_sim / np.maximum(num_sim * (num_sim - 1), 1)
        + within_real / np.maximum(num_real * (num_real - 1), 1)
        - 2 * between / (num_sim * num_real)
    )


def _separation(
    kernel: NDArray[np.float32],
    units: NDArray[np.intp],
    num_groups_sim: int,
    generator: np.random.Generator,
) -> float | None:
    """Give the area under the ROC of the kernel witness on held-out groups, both halves in turn.

    The witness (mean kernel to sim minus mean kernel to real; Gretton et al. 2012, section 2) is
    fitted on half of the groups of each side and scores the other half: a classifier two-sample
    test (Lopez-Paz and Oquab 2017; Kuebler et al. 2022) read as the common-language effect size
    (McGraw and Wong 1992). It has one scale for all widths and numbers of rows.
    """
    num_groups = int(units.max()) + 1
    if min(num_groups_sim, num_groups - num_groups_sim) < 2:  # noqa: PLR2004
        return None
    half = np.zeros(num_groups, dtype=np.bool_)
    half[generator.permutation(num_groups_sim)[: num_groups_sim // 2]] = True
    others = num_groups_sim + generator.permutation(num_groups - num_groups_sim)
    half[others[: len(others) // 2]] = True
    fitted_rows, is_sim = half[units], units < num_groups_sim
    areas = []
    for fitted in (fitted_rows, ~fitted_rows):
        witness = kernel[:, fitted & is_sim].mean(axis=1) - kernel[:, fitted & ~is_sim].mean(axis=1)
        areas.append(_area(witness[~fitted & is_sim], witness[~fitted & ~is_sim]))
    return float(np.mean(areas))


def _area(higher: NDArray[np.float32], lower: NDArray[np.float32]) -> float:
    """Give the chance that one of `higher` exceeds one of `lower`, ties counting one half."""
    ordered = np.sort(lower)
    below = np.searchsorted(ordered, higher, side="left")
    not_above = np.searchsorted(ordered, higher, side="right")
    return float((below + not_above).mean() / 2 / len(lower))
