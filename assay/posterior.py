"""How likely is each answer to "what broke"? A small logistic model over the evidence for it.

An answer is a component with a kind; "none" is one too. Its confidence is the share of planted
cases in which an answer with such evidence was among what had been planted. Answers do not exclude
each other, as two things may be broken at once: confidences need not add up to one.

The model is a ridge logistic regression (Hoerl and Kennard 1970; le Cessie and van Houwelingen
1992) over a handful of figures between 0 and 1, drawn not to 0 but to what a person would say
(`posterior_prior`); its coefficients are a table in `posterior_fit`, which says what they were
fitted to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, Literal

import numpy as np

from assay.posterior_fit import COEFFICIENTS
from assay.posterior_prior import PRIOR

RIDGE = 1.0  # a coefficient is held to within about 1 of the prior where the answers say nothing
FREE = 1e-6
FACTOR = 3.0  # what a person says of a figure may be off by so much, and never by its sign
MOST_STEPS = 2000
SETTLED = 1e-12
BIAS = "bias"
OTHER = "other"  # the figure of a second name
LIKELY = 0.5  # of a thing of its own: it stands before second names


Answer = Literal[
    "preprocessing", "model", "postprocessing", "deployment", "data", "unknown", "none"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One answer and the figures that speak for and against it, 0 to 1; what is not there is 0."""

    component: Answer
    kind: str
    figures: Mapping[str, float]
    cause: int | None = None  # its place among the causes; None: it is no finding

    @property
    def confidence(self) -> float:
        """How often an answer with such evidence is right."""
        return confidence(self.figures)


def confidence(figures: Mapping[str, float], by: Mapping[str, float] = COEFFICIENTS) -> float:
    """Turn evidence into a share.

    Args:
        figures: of one answer.
        by: coefficients; a figure that has none counts for nothing.

    >>> confidence({}, {"bias": 0.0}), round(confidence({"clear": 1.0}, {"clear": 3.0}), 2)
    (0.5, 0.95)
    """
    log_odds = by.get(BIAS, 0.0) + sum(by.get(name, 0.0) * value for name, value in figures.items())
    return 1 / (1 + exp(-min(max(log_odds, -30.0), 30.0)))


def likeliest(weighed: Sequence[Weighed]) -> list[Weighed]:
    """Order answers by their confidence; of one component and kind the likeliest stays.

    Second names of one thing come after whatever else is more likely broken than not: a reader who
    looks at the first few answers sees each thing once before he sees one of them twice.
    """
    found: dict[tuple[Answer, str], Weighed] = {}
    for one in sorted(weighed, key=lambda one: (_place(one), -one.confidence)):
        found.setdefault((one.component, one.kind), one)
    return list(found.values())


def _place(one: Weighed) -> bool:
    return one.confidence < LIKELY or bool(one.figures.get(OTHER))


def fit(
    figures: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    *,
    prior: Mapping[str, float] = PRIOR,
    ridge: float = RIDGE,
) -> dict[str, float]:
    """Fit the coefficients, drawn towards those of a person and within a factor of them.

    A figure that hardly varies among the answers would otherwise take any coefficient, and an
    answer with other figures than theirs any confidence. (Logistic regression under a normal prior
    whose mean is not 0, by L-BFGS-B of Byrd et al. 1995, which keeps bounds.)

    Args:
        figures: of each answer that was given, as a diagnosis reports them in `weighed`.
        right: whether it was among what had been planted.
        prior: the coefficients to stay near to; a figure that has none is drawn to 0. Its bias
            is where the fit starts, and is free.
        ridge: how strongly they are drawn: the inverse of the prior's variance.

    Returns:
        Coefficients by the names of the figures, rounded so that they can be kept as text.

    Raises:
        ValueError: there is no answer, or not one `right` for each.

    >>> found = fit([{"a": 1.0}, {"a": 1.0}, {}, {}], [True, True, False, False], prior={"a": 1.0})
    >>> found["a"] > 1
    True
    """
    from scipy.optimize import minimize

    if not figures or len(figures) != len(right):
        raise ValueError(f"one right or wrong an answer: {len(figures)} and {len(right)}")
    names = sorted({name for one in figures for name in one} | (set(prior) - {BIAS}))
    table = np.array([[1.0, *(one.get(name, 0.0) for name in names)] for one in figures])
    truth = np.asarray(right, dtype=np.float64)
    near = np.array([prior.get(name, 0.0) for name in (BIAS, *names)])
    drawn = np.array([FREE, *[ridge] * len(names)])

    def cost(found: Any) -> tuple[float, Any]:
        log_odds = table @ found
        loss = np.sum(np.logaddexp(0.0, log_odds) - truth * log_odds)
        slope = table.T @ (1 / (1 + np.exp(-log_odds)) - truth)
        away = found - near
        return float(loss + (drawn * away**2).sum() / 2), slope + drawn * away

    bounds = [(None, None), *(_around(value) for value in near[1:])]
    found = minimize(
        cost,
        near,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MOST_STEPS, "ftol": SETTLED},
    )
    values = zip([BIAS, *names], found.x, strict=True)
    return {name: round(float(value), 4) for name, value in values}


def _around(value: float) -> tuple[float | None, float | None]:
    if value == 0:
        return None, None
    low, high = sorted((value / FACTOR, value * FACTOR))
    return low, high


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Return the mean distance of confidence and share of right answers, in bins of equal mass.

    (Naeini, Cooper and Hauskrecht 2015.)

    >>> calibration_error([0.9] * 10, [True] * 9 + [False], bins=1)
    0.0
    """
    order = np.argsort(confidences, kind="stable")
    stated, truth = np.asarray(confidences, float)[order], np.asarray(right, float)[order]
    parts = np.array_split(np.arange(len(order)), min(bins, len(order)))
    apart = sum(len(at) * abs(stated[at].mean() - truth[at].mean()) for at in parts)
    return round(float(apart) / len(order), 12)
