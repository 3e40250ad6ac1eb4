"""Whole groups dealt to two sides at random: what a difference between two sets is held against."""

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

ENOUGH_GROUPS = 40  # beyond this the arrangements are astronomically many: draw, do not count


def deal_groups(
    sizes: NDArray[np.intp], num_groups_sim: int, num: int, generator: np.random.Generator
) -> tuple[NDArray[np.bool_], float]:
    """Give (groups, 1 + B), True where a group is sim, the observed one first; and the least p.

    All arrangements where they are few enough, each once; else random ones that keep the numbers
    of rows as nearly as whole groups allow.

    Args:
        sizes: rows of each group, those of sim first.
        num_groups_sim: how many are sim's.
        num: B, the most that are drawn beside the observed one.
        generator: of the drawn ones.
    """
    num_groups = len(sizes)
    observed = np.arange(num_groups) < num_groups_sim
    if sizes.min() == sizes.max() and num_groups <= ENOUGH_GROUPS:
        count = comb(num_groups, num_groups_sim)
        # Two sides of one size: the mirrored arrangement has the same statistic, always.
        mirrored = 2 if 2 * num_groups_sim == num_groups else 1
        if count <= num + 1:
            dealt = np.zeros((num_groups, count), dtype=np.bool_)
            for at, chosen in enumerate(combinations(range(num_groups), num_groups_sim)):
                dealt[list(chosen), at] = True  # the first combination is the observed one
            return dealt, mirrored / count
    dealt = np.empty((num_groups, num + 1), dtype=np.bool_)
    dealt[:, 0] = observed
    target = int(sizes[:num_groups_sim].sum())
    taken, equal = num_groups_sim, sizes.min() == sizes.max()
    for at in range(1, num + 1):
        order = generator.permutation(num_groups)
        if not equal:
            filled = np.cumsum(sizes[order])[:-1]
            taken = int(np.abs(filled - target).argmin()) + 1
        dealt[:, at] = False
        dealt[order[:taken], at] = True
    return dealt, _smallest_p(dealt)


def _smallest_p(dealt: NDArray[np.bool_]) -> float:
    """Count how often the draws meet the observed partition itself, mirrored or not."""
    first = dealt[:, :1]
    same = (dealt == first).all(axis=0) | (dealt != first).all(axis=0)
    return float(same.sum() / dealt.shape[1])
