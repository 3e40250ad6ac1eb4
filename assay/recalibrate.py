"""Maps of a model's outputs or answers that a few labels fit: small, and nothing of the model.

Outputs are read as log-probabilities, see `assay.calibration.probabilities`. All fits are convex or
closed, so that the same rows give the same map.

| map | fitted by | source |
|---|---|---|
| temperature | likelihood, one number | Guo et al. 2017 |
| bias of the outputs | likelihood, ridge of one row | Alexandari, Kundaje and Shrikumar 2020 |
| class prior | expectation maximisation, no label | Saerens, Latinne and Decaestecker 2002 |
| isotonic | pool adjacent violators | Ayer et al. 1955; Zadrozny and Elkan 2002 |
| relabel | assignment on the cross table | Kuhn 1955 |
| threshold | fewest errors | - |
| straight line | least squares | - |
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration import Taken, probabilities
from assay.confusions import best_relabelling, confusion

Floats = NDArray[np.float64]
SMALLEST = 1e-12
TEMPERATURES = (0.02, 50.0)


def log_shares(outputs: NDArray[Any], how: Taken | None = None) -> Floats:
    """Read raw outputs as log-probabilities, (rows, classes)."""
    shares, _ = probabilities(outputs, how)
    logs: Floats = np.log(np.maximum(shares, SMALLEST))
    return logs


def softmax(logs: Floats) -> Floats:
    """Return probabilities, (rows, classes)."""
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    made: Floats = powers / powers.sum(axis=1, keepdims=True)
    return made


def fit_temperature(logs: Floats, columns: NDArray[np.int64]) -> float:
    """Fit the number that divides log-probabilities so that the right columns are likeliest.

    >>> sure = np.log(np.array([[0.99, 0.01]] * 4))
    >>> round(fit_temperature(sure, np.array([0, 0, 0, 1])), 1)
    4.2
    """
    from scipy.optimize import minimize_scalar

    at = np.arange(len(columns))

    def cost(log_temperature: float) -> float:
        return -float(np.log(softmax(logs / np.exp(log_temperature))[at, columns] + 1e-300).mean())

    low, high = np.log(TEMPERATURES)
    found = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def fit_bias(logs: Floats, columns: NDArray[np.int64], ridge: float = 1.0) -> Floats:
    """Fit what is added to log-probabilities, (classes,) with mean 0.

    The ridge keeps a class without rows where it is, rather than at minus infinity.

    >>> logs = np.log(np.array([[0.6, 0.4]] * 20))
    >>> (logs[0] + fit_bias(logs, np.ones(20, np.int64))).argmax()
    np.int64(1)
    """
    from scipy.optimize import minimize

    truth = np.eye(logs.shape[1])[columns]

    def cost(shift: Floats) -> tuple[float, Floats]:
        shares = softmax(logs + shift)
        chosen = np.maximum((shares * truth).sum(axis=1), 1e-300)
        slope = (shares - truth).sum(axis=0) + ridge * shift
        return float(-np.log(chosen).sum() + ridge / 2 * (shift**2).sum()), slope

    found = minimize(cost, np.zeros(logs.shape[1]), jac=True, method="L-BFGS-B")
    shift: Floats = np.asarray(found.x, np.float64)
    shift -= shift.mean()
    return shift


def fit_prior(logs: Floats, trained: Floats, rounds: int = 500) -> Floats:
    """Find the classes' shares among rows without labels, by what the model says of them.

    Args:
        logs: (rows, classes) log-probabilities of the rows.
        trained: (classes,) shares that the model was trained at.
        rounds: at most; it ends where nothing moves.

    >>> logs = np.log(np.array([[0.9, 0.1]] * 30 + [[0.1, 0.9]] * 10))
    >>> fit_prior(logs, np.array([0.5, 0.5])).round(2).tolist()
    [0.81, 0.19]
    """
    shares = np.exp(logs)
    prior: Floats = np.asarray(trained, np.float64).copy()
    for _ in range(rounds):
        weighed = shares * (prior / np.maximum(trained, SMALLEST))
        weighed /= np.maximum(weighed.sum(axis=1, keepdims=True), SMALLEST)
        moved = weighed.mean(axis=0)
        if np.abs(moved - prior).max() < 1e-8:  # noqa: PLR2004  a share in a hundred million rows
            return moved  # type: ignore[no-any-return]
        prior = moved
    return prior


def fit_threshold(values: ArrayLike, positive: NDArray[np.bool_]) -> float:
    """Return the threshold above which values are called positive with the fewest errors.

    >>> fit_threshold([0.1, 0.4, 0.6], np.array([False, True, True]))
    0.25
    """
    order = np.argsort(values, kind="stable")
    sorted_values: Floats = np.asarray(values, np.float64)[order]
    truth = positive[order]
    below = np.concatenate([[0], np.cumsum(truth)])  # positives that would be missed
    above = (~truth).sum() - np.concatenate([[0], np.cumsum(~truth)])
    errors = (below + above).astype(np.float64)
    same = np.concatenate([[False], sorted_values[1:] == sorted_values[:-1], [False]])
    errors[same] = np.inf  # no threshold parts equal values
    ends = (sorted_values[0] - 1, sorted_values[-1] + 1)
    padded = np.concatenate([[ends[0]], sorted_values, [ends[1]]])
    at = int(errors.argmin())
    return float((padded[at] + padded[at + 1]) / 2)


def fit_relabel(answers: NDArray[Any], labels: NDArray[Any], num_classes: int) -> NDArray[np.int64]:
    """Return the class that each answer should have been, (classes,): one for one.

    >>> fit_relabel(np.array([1, 2, 0, 1]), np.array([0, 1, 2, 0]), 3).tolist()
    [2, 0, 1]
    """
    table = confusion(np.asarray(labels), np.asarray(answers), num_classes)
    return np.array(best_relabelling(table), np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monotone:
    """A rising map through points; between them it is a straight line, beyond them flat."""

    x: Floats
    y: Floats

    def __call__(self, values: ArrayLike) -> Floats:
        """Map values."""
        return np.asarray(np.interp(np.asarray(values, np.float64), self.x, self.y), np.float64)


def fit_monotone(x: ArrayLike, y: ArrayLike) -> Monotone:
    """Fit the rising map of the least squared error, by pooling adjacent violators.

    >>> found = fit_monotone([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1.0])
    >>> found([0.0, 2.0, 3.0, 9.0]).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    places, inverse, counts = np.unique(
        np.asarray(x, np.float64), return_inverse=True, return_counts=True
    )
    means = np.bincount(inverse, np.asarray(y, np.float64)) / counts
    pools: list[tuple[float, float, int]] = []  # mean, weight, places
    for mean, weight in zip(means.tolist(), counts.tolist(), strict=True):
        pools.append((mean, float(weight), 1))
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            (one, w1, n1), (two, w2, n2) = pools[-2:]
            pools[-2:] = [((one * w1 + two * w2) / (w1 + w2), w1 + w2, n1 + n2)]
    levels = np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])
    ends = np.ones(len(levels), bool)  # the inside of a flat piece adds nothing
    ends[1:-1] = (levels[1:-1] != levels[:-2]) | (levels[1:-1] != levels[2:])
    return Monotone(x=places[ends], y=levels[ends])


def fit_line(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Fit slope and offset by least squares; slope 1 where x does not vary.

    >>> fit_line([1.0, 2.0, 3.0], [3.0, 5.0, 7.0])
    (2.0, 1.0)
    """
    given, wanted = np.asarray(x, np.float64), np.asarray(y, np.float64)
    centred = given - given.mean()
    varies = float((centred**2).sum())
    slope = float((centred * (wanted - wanted.mean())).sum()) / varies if varies else 1.0
    return slope, float(wanted.mean() - slope * given.mean())
