"""Where a rule of two labels changes its mind, asked on a grid of made-up scores.

A rule that is a function of raw outputs can be asked about outputs that no sample has: one class
gets all scores from low to high, and the score at which the label appears is the threshold.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

STEPS = 1601
REACH = 20.0  # logits: from minus to plus
MOST_CLASSES = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """The scores between which the label changes; infinite where it never does."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Return the threshold."""
        if self.low == -inf or self.high == inf:
            return self.high if self.low == -inf else self.low
        return (self.low + self.high) / 2


def cut(scores: ArrayLike, positive: ArrayLike) -> Cut | None:
    """Find the one score from which on the label is given; None where there is no such one.

    >>> cut([0.1, 0.4, 0.6, 0.9], [False, False, True, True])
    Cut(low=0.4, high=0.6)
    """
    values = np.asarray(scores, np.float64)
    given = np.asarray(positive, bool)
    below, above = values[~given], values[given]
    low = float(below.max()) if below.size else -inf
    high = float(above.min()) if above.size else inf
    return Cut(low, high) if low < high else None


def logistic(value: float) -> float:
    """Return the logistic function of a number, which may be infinite."""
    return float(0.5 * (1 + np.tanh(0.5 * value)))


def logit(share: float) -> float:
    """Return the number whose logistic function this is; infinite outside 0 to 1."""
    if share <= 0:
        return -inf
    return inf if share >= 1 else float(np.log(share / (1 - share)))


def doubled(threshold: float, width: int) -> float:
    """Where the threshold on one logit, the others 0, moves to when the softmax is taken twice.

    The shares are p and (1 - p) / (k - 1); their difference is the logit that the second softmax
    sees, so that p = (t (k - 1) + 1) / k at the threshold t. A single output has its logistic
    function alone.

    >>> round(doubled(0.0, 2), 6)
    0.0
    >>> doubled(3.0, 2)
    inf
    """
    if width == 1:
        return logit(threshold)
    return logit((threshold * (width - 1) + 1) / width) + float(np.log(width - 1))


def missing(threshold: float) -> float:
    """Where the threshold on a logit moves to when the logit itself is compared with the share."""
    return logistic(threshold)
