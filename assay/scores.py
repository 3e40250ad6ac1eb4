"""What each row adds to a metric: every metric is the mean of one score a row.

A mean of rows can be shared out, exchanged cell by cell and drawn again by groups; so can each
metric that is one. More is better for every score.

| metric | score of a row | its mean |
|---|---|---|
| accuracy | 1 where the label is right, else 0 | the share of right labels |
| r2 | 1 - e^2 / mean((y - mean y)^2), the variance being that of the rows scored | R2, exactly |
| mae | -abs(e) | minus the mean absolute error |

A bootstrap over scores of R2 keeps the variance of the targets as it was found, while a fresh
sample would bring its own: the interval says how sure the errors are, against this variance.
"""

from math import inf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.criteria import accuracy
from assay.intervals import Interval, bootstrap_mean

MetricName = Literal["accuracy", "r2", "mae", "agreement"]
Scores = NDArray[np.float64]

# Between which bounds the mean score lies, and a difference of two.
LEVELS = {"accuracy": (0.0, 1.0), "agreement": (0.0, 1.0), "r2": (-inf, 1.0), "mae": (-inf, 0.0)}
LOSSES = {"accuracy": (-1.0, 1.0), "agreement": (-1.0, 1.0), "r2": (-inf, inf), "mae": (-inf, inf)}


def scores(metric: MetricName, given: ArrayLike | None, wanted: ArrayLike) -> Scores:
    """Score each row.

    Who gives no answer is wrong, where labels are classes; where they are numbers, such a row is
    scored as if the best constant had been answered (the mean for R2, the median for the error),
    which knows nothing either.

    Args:
        metric: accuracy and agreement compare classes, the others numbers.
        given: (rows,) answers; None: there is none to any row. Not finite: none to this row.
        wanted: (rows,) labels.

    >>> scores("accuracy", [1, 2], [1, 3]).tolist()
    [1.0, 0.0]
    >>> scores("r2", [1.0, 1.0, 5.0], [1.0, 2.0, 3.0]).round(2).tolist()
    [1.0, -0.5, -5.0]
    >>> scores("mae", [1.0, float("nan")], [1.5, 2.5]).tolist()
    [-0.5, -0.5]
    """
    if metric in ("accuracy", "agreement"):
        right = np.zeros(np.shape(wanted)) if given is None else np.equal(given, wanted)
        return np.asarray(right, dtype=np.float64)
    truth = np.asarray(wanted, dtype=np.float64)
    errors = truth - _constant(metric, truth)
    if given is not None:
        answers = np.asarray(given, dtype=np.float64)
        errors = np.where(np.isfinite(answers), answers - truth, errors)
    if metric == "mae":
        return -np.abs(errors)
    variance = float(np.mean((truth - truth.mean()) ** 2)) if len(truth) else 0.0
    if variance == 0:  # no R2: 1 where all is right, else 0, as scikit-learn has it
        return np.full(len(truth), float(not errors.any()))
    return 1 - errors**2 / variance


def within(given: ArrayLike | None, wanted: ArrayLike, tolerance: float) -> Scores:
    """Score numbers as agreement: 1 where they are as near as the tolerance.

    >>> within([1.0, 2.0], [1.04, 2.4], 0.1).tolist()
    [1.0, 0.0]
    """
    if given is None:
        return np.zeros(np.shape(wanted))
    apart = np.abs(np.asarray(given, np.float64) - np.asarray(wanted, np.float64))
    return np.asarray(apart <= tolerance, dtype=np.float64)


def spread(metric: MetricName, wanted: ArrayLike) -> float:
    """Say what a loss of 1 means: where it has a unit, what the best constant answer errs by.

    It makes a margin of 0.02 mean the same for every metric: of all rows, of the variance, or of
    the error of who knows nothing.

    >>> spread("accuracy", [0, 1]), spread("mae", [1.0, 2.0, 6.0])
    (1.0, 1.6666666666666667)
    """
    if metric != "mae":
        return 1.0
    truth = np.asarray(wanted, dtype=np.float64)
    return float(np.abs(truth - np.median(truth)).mean()) if len(truth) else 0.0


def level(
    metric: MetricName,
    found: Scores,
    groups: ArrayLike | None,
    *,
    num_draws: int,
    seed: int,
    confidence: float = 0.95,
) -> Interval:
    """Bound the mean score; a share by Wilson's interval too, see `assay.criteria.accuracy`.

    >>> level("mae", np.array([-1.0, -3.0]), None, num_draws=50, seed=0).value
    -2.0
    """
    if metric in ("accuracy", "agreement"):
        labels = None if groups is None else np.asarray(groups)
        draws = {"num_draws": num_draws, "seed": seed}
        return accuracy(found > 0, labels, **draws, confidence=confidence)
    return bootstrap_mean(found, groups, num_draws, seed, confidence).within(*LEVELS[metric])


def _constant(metric: MetricName, truth: Scores) -> float:
    if not len(truth):
        return 0.0
    return float(np.median(truth) if metric == "mae" else truth.mean())
