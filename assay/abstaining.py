"""Whom to answer when some answers are given to a person instead (Chow 1970).

The threshold of the confidence is fitted on some rows, what it costs is told on others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.criteria import accuracy
from assay.intervals import Interval, wilson

Floats = NDArray[np.float64]


def fit_threshold(
    confidence: Floats, correct: NDArray[np.bool_], wanted: float, least: float = 0.02
) -> float | None:
    """Return the lowest confidence above which Wilson's lower bound of the accuracy is reached.

    Args:
        confidence: (rows,).
        correct: (rows,).
        wanted: accuracy of what is answered.
        least: share of rows that has to be answered.

    Returns:
        None where no threshold reaches it.

    >>> sure, right = np.linspace(0, 1, 400), np.arange(400) >= 200
    >>> 0.5 < fit_threshold(sure, right, 0.9) < 0.55
    False
    >>> 0.4 < fit_threshold(sure, right, 0.9) < 0.5
    True
    """
    order = np.argsort(-confidence, kind="stable")
    sure, right = confidence[order], correct[order]
    hits = np.cumsum(right)
    last = np.append(sure[1:] != sure[:-1], True)  # rows of equal confidence go together
    found = None
    for at in np.flatnonzero(last):
        answered = int(at) + 1
        if answered < least * len(sure):
            continue
        if wilson(int(hits[at]), answered).low >= wanted:
            found = float(sure[at])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What it costs to serve in one way."""

    coverage: Interval
    answered: Interval | None  # accuracy of what is answered; None: nothing is
    left: Interval  # share of rows that a person looks at


def served(
    correct: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    groups: NDArray[Any] | None,
    *,
    num_draws: int,
    seed: int,
) -> Served:
    """Say what is answered, how well, and what is left to a person.

    >>> found = served(np.array([True, False] * 20), np.array([True, False] * 20), None,
    ...                num_draws=50, seed=0)
    >>> found.coverage.value, found.answered.value, found.left.value
    (0.5, 1.0, 0.5)
    """

    def share(values: NDArray[np.bool_], own: NDArray[Any] | None) -> Interval:
        return accuracy(values, own, num_draws=num_draws, seed=seed)

    inside = None if groups is None else groups[kept]
    return Served(
        coverage=share(kept, groups),
        answered=share(correct[kept], inside) if kept.any() else None,
        left=share(~kept, groups),
    )
