"""Does a classifier's confidence say how often it is right? And what it gives up by abstaining.

The calibration error is the mean gap between confidence and accuracy over bins of equal mass
(Naeini et al. 2015; Nguyen and O'Connor 2015). Binned, it is too large for few rows, as noise is
counted as miscalibration. It is therefore told debiased too (Kumar, Liang and Ma 2019, the
estimator for the L1 error): what noise adds in each bin is the mean of a folded normal less the gap
found, with the deviation of the bin's gap taken from a bootstrap over groups, so that rows which
rise and fall together do not count as many. Less biased, not unbiased: of a
calibrated model's noise some 40 % is taken off, as the gap found stands in for the true one.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.intervals import Interval, Resampled, bootstrap_mean, resample_means, wilson

Floats = NDArray[np.float64]
Taken = Literal["probabilities", "softmax of the outputs", "sigmoid of the output"]

SUMS_TO_ONE = 1e-3


def probabilities(outputs: NDArray[Any], how: Taken | None = None) -> tuple[Floats, Taken]:
    """Read raw outputs as probabilities, and say how.

    Args:
        outputs: (rows, classes) finite; one column is two classes.
        how: what `taken_as` said of all of them; None: of these.

    >>> found, how = probabilities(np.array([[0.0, 0.0]]))
    >>> found.tolist(), how
    ([[0.5, 0.5]], 'softmax of the outputs')
    """
    values = np.asarray(outputs, dtype=np.float64)
    how = how or taken_as(values)
    if values.shape[1] == 1:
        ones = values if how == "probabilities" else 1 / (1 + np.exp(-np.clip(values, -500, 500)))
        return np.hstack([1 - ones, ones]), how
    if how == "probabilities":
        return values / values.sum(axis=1, keepdims=True), how
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), how


def taken_as(outputs: NDArray[Any]) -> Taken:
    """Say what outputs are: rows that are not negative and sum to 1 within 1e-3 are probabilities.

    A single output is that of class 1: a probability if all lie in [0, 1], else a logit.
    """
    values = np.asarray(outputs, dtype=np.float64)
    if values.shape[1] == 1:
        inside = bool(((values >= 0) & (values <= 1)).all())
        return "probabilities" if inside else "sigmoid of the output"
    sums = bool((np.abs(values.sum(axis=1) - 1) <= SUMS_TO_ONE).all())
    return "probabilities" if sums and (values >= 0).all() else "softmax of the outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Rows of like confidence."""

    low: float  # the least confidence in it
    high: float
    confidence: float  # mean
    accuracy: float
    accuracy_low: float  # Wilson's interval, widened by what the groups add
    accuracy_high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far confidence lies from accuracy."""

    bins: tuple[Bin, ...]
    error: Interval  # as binned; for few rows too large
    debiased: float  # the same less what noise adds
    over: float  # mean confidence less accuracy: positive is overconfident


def calibrate(
    confidence: Floats,
    correct: NDArray[np.bool_],
    groups: NDArray[Any] | None,
    *,
    num_bins: int = 10,
    num_draws: int = 2000,
    seed: int = 0,
) -> Calibration:
    """Compare confidence with accuracy in bins of equal mass.

    The interval of the error is the bootstrap's over groups, bins held; its draws are moved back
    onto the value, as each draw adds noise, hence error, of its own.

    Args:
        confidence: (rows,) in [0, 1], of the answer given.
        correct: (rows,).
        groups: (rows,) or None.
        num_bins: fewer where rows share a confidence; a bin has at least one row.
        num_draws: of the bootstrap.
        seed: of the bootstrap.
    """
    places = equal_mass(confidence, num_bins)
    count = int(places.max()) + 1
    gaps = np.zeros((len(confidence), count))
    gaps[np.arange(len(confidence)), places] = confidence - correct
    found = resample_means(gaps, groups, num_draws=num_draws, seed=seed)
    means = gaps.mean(axis=0)
    error = float(np.abs(means).sum())
    deviations = found.draws.std(axis=0) * _unit_factor(found)
    noise = float((_folded_mean(means, deviations) - np.abs(means)).sum())
    draws = np.abs(found.draws).sum(axis=1)
    draws += error - draws.mean()
    low, high = found.bounds(np.array([error]), draws[:, None], 0.95)[:, 0]
    return Calibration(
        bins=tuple(
            _bin(confidence[places == at], correct[places == at], deviations[at], len(confidence))
            for at in range(count)
        ),
        error=Interval(
            value=error,
            low=max(0.0, float(low)),
            high=min(1.0, float(high)),
            n=len(confidence),
            resampled=found.resampled,
            num_units=found.num_units,
        ),
        debiased=max(0.0, error - noise),
        over=float(confidence.mean() - correct.mean()),
    )


def equal_mass(values: Floats, num_bins: int) -> NDArray[np.int64]:
    """Number each value's bin, bins having as equal numbers as ties allow; equal ones share one.

    >>> equal_mass(np.array([0.1, 0.9, 0.5, 0.9]), 2).tolist()
    [0, 1, 0, 1]
    """
    ranks = np.searchsorted(np.sort(values), values, side="left")
    places = np.minimum(num_bins - 1, ranks * num_bins // max(1, len(values)))
    _, inverse = np.unique(places, return_inverse=True)
    return inverse.astype(np.int64)


def _unit_factor(found: Resampled) -> float:
    return sqrt(found.num_units / (found.num_units - 1)) if found.num_units > 1 else 1.0


def _folded_mean(means: Floats, deviations: Floats) -> Floats:
    """Return the mean of |N(m, s)|."""
    from scipy.special import erf

    safe = np.where(deviations > 0, deviations, 1.0)
    ratio = means / safe
    mean = safe * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + means * erf(ratio / np.sqrt(2))
    return np.where(deviations > 0, mean, np.abs(means))


def _bin(confidence: Floats, correct: NDArray[np.bool_], deviation: float, num_rows: int) -> Bin:
    by_rows = wilson(int(correct.sum()), len(correct))
    # `deviation` is that of the bin's gap as a share of all rows.
    half = 1.96 * float(deviation) * num_rows / len(correct)
    return Bin(
        low=float(confidence.min()),
        high=float(confidence.max()),
        confidence=float(confidence.mean()),
        accuracy=by_rows.value,
        accuracy_low=max(0.0, min(by_rows.low, by_rows.value - half)),
        accuracy_high=min(1.0, max(by_rows.high, by_rows.value + half)),
        n=len(correct),
    )


def brier(shares: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return each row's squared distance of probabilities from the truth (Brier 1950): 0 to 2.

    >>> brier(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 0])).tolist()
    [0.0, 2.0]
    """
    truth = np.zeros_like(shares)
    known = (labels >= 0) & (labels < shares.shape[1])
    truth[np.flatnonzero(known), labels[known]] = 1
    found: Floats = ((shares - truth) ** 2).sum(axis=1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is left when the least confident rows are not answered."""

    threshold: float
    coverage: float  # share of rows that are answered
    accuracy: float  # of those
    low: float  # Wilson's interval
    high: float


def coverage_sweep(
    confidence: Floats, correct: NDArray[np.bool_], num_points: int = 20
) -> tuple[Kept, ...]:
    """Follow accuracy over coverage (El-Yaniv and Wiener 2010), from all rows to the surest.

    >>> [(one.coverage, one.accuracy) for one in
    ...  coverage_sweep(np.array([0.5, 0.9]), np.array([False, True]), 2)]
    [(1.0, 0.5), (0.5, 1.0)]
    """
    order = np.argsort(confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    starts = np.unique(np.arange(num_points) * len(confidence) // num_points)
    # Rows of equal confidence are answered or left together.
    starts = np.unique(np.searchsorted(confidence, confidence[starts], side="left"))
    found = []
    for start in starts:
        kept = wilson(int(correct[start:].sum()), len(correct) - int(start))
        found.append(
            Kept(
                threshold=float(confidence[start]),
                coverage=kept.n / len(correct),
                accuracy=kept.value,
                low=kept.low,
                high=kept.high,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """A threshold on the probability of class 1."""

    threshold: float
    precision: float
    recall: float


def precision_recall(
    share: Floats, positive: NDArray[np.bool_], num_points: int = 20
) -> tuple[OperatingPoint, ...]:
    """Follow precision and recall of class 1 over thresholds, of which each is a value found.

    >>> precision_recall(np.array([0.2, 0.8]), np.array([False, True]), 2)[-1]
    OperatingPoint(threshold=0.8, precision=1.0, recall=1.0)
    """
    if not positive.any():
        return ()
    thresholds = np.unique(np.quantile(share, np.linspace(0, 1, num_points), method="nearest"))
    found = []
    for threshold in thresholds:
        called = share >= threshold
        hits = int((called & positive).sum())
        found.append(
            OperatingPoint(
                threshold=float(threshold),
                precision=hits / int(called.sum()),
                recall=hits / int(positive.sum()),
            )
        )
    return tuple(found)


def histogram(confidence: Floats, num_bins: int = 20) -> list[float]:
    """Return the share of rows in bins of equal width over [0, 1].

    >>> histogram(np.array([0.1, 0.9, 1.0]), 2)
    [0.3333333333333333, 0.6666666666666666]
    """
    counts, _ = np.histogram(confidence, num_bins, (0, 1))
    return [float(count) / len(confidence) for count in counts]


def expected_accuracy(
    sim_certainty: Floats,
    sim_correct: NDArray[np.bool_],
    real_certainty: Floats,
    groups: NDArray[Any] | None,
    *,
    num_draws: int,
    seed: int,
) -> Interval:
    """Guess the accuracy on rows without labels: average thresholded confidence (Garg et al. 2022).

    The threshold leaves, on validation, as many rows below as are wrong there; the guess is the
    share of real rows above. It holds only if the field shifts the inputs and leaves what
    certainty means, which nothing here can check: a fault that makes the model surely wrong is not
    seen. The interval is over the real rows alone.

    >>> expected_accuracy(np.array([0.0, -1.0]), np.array([True, False]),
    ...                   np.array([0.0, 0.0, 0.0, -1.0]), None, num_draws=10, seed=0).value
    0.75
    """
    wrong = int((~sim_correct).sum())
    order = np.sort(sim_certainty)
    threshold = order[wrong] if wrong < len(order) else np.inf
    return bootstrap_mean(real_certainty >= threshold, groups, num_draws, seed).within(0, 1)


def certainty(shares: Floats) -> Floats:
    """Return the negative entropy of each row, in nats."""
    safe = np.where(shares > 0, shares, 1.0)
    total: Floats = (shares * np.log(safe)).sum(axis=1)
    return total
