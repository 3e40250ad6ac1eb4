"""Which of many alterations that regain something is the explanation, and which say the same?

The largest regain is that of the most pliable alteration, which matches whole distributions. So of
those that regain nearly the same the simplest is preferred; what regains more on the same rows only
is the same explanation in other words; and what mends other rows is one more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.gains import paired_gain
from assay.intervals import Interval

Floats = NDArray[np.float64]

NEARLY = 0.85  # of the largest regain: the same
PERHAPS = 0.7  # of it: the same where the rows do not tell them apart
OTHER_ROWS = 0.5  # of what is regained, on rows that the first explanation does not mend
STEP = 8  # in simplicity, within which the larger regain is preferred


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One alteration of real rows."""

    key: str
    kind: str
    where: str | None
    simplicity: int
    gained: Floats  # (rows,) in the metric's scores
    interval: Interval  # of its mean
    p_value: float  # adjusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Keys: the explanations, the largest first, and who says the same as which of them."""

    keys: tuple[str, ...]
    same_as: dict[str, str]


def explain(
    tried: list[Tried], groups: NDArray[Any] | None, *, alpha: float, margin: float
) -> Explained:
    """Choose among what surely regains more than the margin.

    Args:
        tried: on the same rows.
        groups: (rows,), of these rows.
        alpha: of the adjusted p.
        margin: what nobody would miss.
    """
    left = [
        one
        for one in tried
        if one.p_value <= alpha and one.interval.low > 0 and one.interval.value > margin
    ]
    keys: list[str] = []
    same_as: dict[str, str] = {}
    while left:
        best = max(left, key=lambda one: one.interval.value)
        near = [one for one in left if _as_good(one, best, groups, alpha)]
        first = min(
            near,
            key=lambda one: (
                one.simplicity // STEP,
                -one.interval.value,
                one.simplicity,
                one.key,
            ),
        )
        keys.append(first.key)
        rest = []
        for one in left:
            if one is first:
                continue
            if _says_more(one, first, margin):
                rest.append(one)
            else:
                same_as[one.key] = first.key
        left = rest
    return Explained(keys=tuple(keys), same_as=same_as)


def _as_good(one: Tried, best: Tried, groups: NDArray[Any] | None, alpha: float) -> bool:
    """Tell whether it regains nearly as much, or not surely less."""
    share = one.interval.value / best.interval.value
    if share >= NEARLY or share < PERHAPS:
        return share >= NEARLY
    return paired_gain(one.gained, best.gained, groups, is_share=False).p_value > alpha


def _says_more(one: Tried, first: Tried, margin: float) -> bool:
    """Tell whether it regains rows that the first does not, as much as matters."""
    beyond = np.maximum(one.gained - np.maximum(first.gained, 0), 0)
    own = np.maximum(one.gained, 0).mean()
    return bool(beyond.mean() > max(margin, OTHER_ROWS * own))
