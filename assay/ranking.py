"""What the gap is made of: the cost of each part when it alone is exchanged, worst first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.criteria import accuracy, drop
from assay.intervals import Interval, Paired, bootstrap_difference, mcnemar
from assay.swap import shapley_intervals

Component = Literal["preprocessing", "model", "postprocessing", "data"]
Strength = Literal["strong", "moderate", "weak"]
Correct = NDArray[np.bool_]

PREPROCESSING, MODEL = "preprocessing", "model"
NOTHING, EVERYTHING = frozenset[str](), frozenset({PREPROCESSING, MODEL})
# Cells of the swap, by what comes from the candidate.
CELLS = (NOTHING, frozenset({PREPROCESSING}), frozenset({MODEL}), EVERYTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Which rows were answered right, situation by situation.

    A situation in which the model could not answer counts as wrong in every row.
    """

    sim: Correct  # (sim rows,) the reference on validation
    sim_candidate: Correct | None  # the candidate on the same rows
    real: Mapping[frozenset[str], Correct]  # (real rows,) a cell of CELLS, all over the same rows
    swaps: Mapping[
        str, Correct
    ]  # (real rows,) the reference with one step of the candidate, by key
    sim_groups: NDArray[Any] | None
    real_groups: NDArray[Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The gap in metric points; `data`, `preprocessing` and `model` add up to `gap`.

    Positive is a loss. `steps` are losses of one step at a time with the rest from the reference;
    where steps act on each other they do not add up to `preprocessing`.
    """

    sim: Interval
    reference: Interval  # all from the reference, on real rows
    candidate: Interval  # as deployed, on real rows
    gap: Interval
    data: Interval
    preprocessing: Interval
    model: Interval
    paired: Paired  # as deployed against the reference, on real rows
    on_sim: Interval | None  # what the whole candidate loses on validation
    steps: Mapping[str, Interval]


def attribute(answers: Answers, *, num_draws: int = 2000, seed: int = 0) -> Shares:
    """Say what each part of the gap costs; paired where the rows are the same, by whole groups."""
    sim, real = answers.sim, answers.real
    groups = answers.real_groups
    levels = {
        "sim": accuracy(sim, answers.sim_groups, num_draws=num_draws, seed=seed),
        "reference": accuracy(real[NOTHING], groups, num_draws=num_draws, seed=seed),
        "candidate": accuracy(real[EVERYTHING], groups, num_draws=num_draws, seed=seed),
    }
    # A loss: the sign of the change is turned by counting wrong answers.
    wrong = {cell: ~real[cell] for cell in CELLS}
    parts = {
        name: loss.within(-1, 1)
        for name, loss in shapley_intervals(wrong, groups, num_draws, seed).items()
    }
    return Shares(
        **levels,
        gap=drop(levels["sim"], levels["candidate"]),
        data=drop(levels["sim"], levels["reference"]),
        preprocessing=parts[PREPROCESSING],
        model=parts[MODEL],
        paired=mcnemar(real[NOTHING], real[EVERYTHING]),
        on_sim=None
        if answers.sim_candidate is None
        else bootstrap_difference(
            answers.sim_candidate, sim, answers.sim_groups, num_draws, seed
        ).within(-1, 1),
        steps={
            key: bootstrap_difference(correct, real[NOTHING], groups, num_draws, seed).within(-1, 1)
            for key, correct in answers.swaps.items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Different:
    """A step whose output differs on the same input; `kind` None where no explanation fits."""

    key: str
    name: str
    kind: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen besides the metric. Names are for people: nothing is decided by them."""

    steps: Sequence[Different]
    first_differing_step: str | None  # along the chain
    model_differs: bool  # the models answer differently on the same tensors
    raw_equal: bool  # ... though their raw outputs are equal
    domains_part: (
        bool  # a second examination, of layers or of labels, sees simulation leave reality
    )
    has_labels: bool = (
        True  # without, "right" means "as the reference says": nothing speaks of data
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One difference and what it costs.

    Harmless: the whole interval of its cost lies within the margin. Undecided: it may cost nothing,
    or more than that.
    """

    component: Component
    kind: str
    key: str | None
    step: str | None
    explains: Interval | None
    strength: Strength
    harmless: bool
    undone: bool = False  # it costs something alone, and the rest of the candidate makes up for it
    masked: bool = False  # real rows cannot show its cost: the reference fails on them already

    @property
    def undecided(self) -> bool:
        """Nothing shows that it costs anything, and nothing that it does not."""
        unknown = self.explains is None or self.explains.low <= 0
        return unknown and not self.harmless and not self.masked


def rank(shares: Shares, seen: Seen, *, margin: float) -> tuple[Cause, ...]:
    """Order the causes: what costs most first, the undecided next, harmless differences last.

    Args:
        shares: of the gap.
        seen: which parts differ at all; a part that does not differ is never accused.
        margin: metric points that nobody would miss.
    """
    causes = _unmask([*_steps(shares, seen, margin), *_model(shares, seen, margin)], shares, margin)
    if seen.has_labels and shares.data.low > 0 and not costs_nothing(shares.data, margin):
        strength: Strength = "strong" if seen.domains_part else "moderate"
        kind = "sim_to_real_gap" if seen.domains_part else "unknown"
        causes.append(_cause("data", kind, shares.data, strength))
    return tuple(sorted(causes, key=_place))


def costs_nothing(loss: Interval, margin: float) -> bool:
    """Tell whether a loss is shown to lie within the margin: not to see one is not to have none.

    >>> costs_nothing(Interval(value=0.001, low=-0.01, high=0.015, n=100), 0.02)
    True
    >>> costs_nothing(Interval(value=0.01, low=-0.2, high=0.22, n=100), 0.02)
    False
    """
    return loss.high <= margin


def _strength(loss: Interval, *, harmless: bool, margin: float) -> Strength:
    """Grade an intervention on pairs; harmless is strong once 3 / n is within the margin too."""
    if harmless:
        return "strong" if 3 / loss.n <= margin else "moderate"
    return "strong" if loss.low > 0 else "weak"


def _cause(component: Component, kind: str, loss: Interval, strength: Strength) -> Cause:
    return Cause(
        component=component,
        kind=kind,
        key=None,
        step=None,
        explains=loss,
        strength=strength,
        harmless=False,
    )


def _steps(shares: Shares, seen: Seen, margin: float) -> list[Cause]:
    whole = shares.preprocessing
    # What counts is what the deployed chain loses: a step that a later one undoes is no cause.
    free = costs_nothing(whole, margin)
    causes = [_step(step, shares, free, margin, alone=len(seen.steps) == 1) for step in seen.steps]
    explained = any(cause.explains and cause.explains.low > 0 for cause in causes)
    if not free and whole.low > 0 and not explained:
        left = _cause("preprocessing", "unknown", whole, "moderate")
        causes = [cause for cause in causes if cause.explains or cause.harmless]
        causes.append(replace(left, step=seen.first_differing_step))
    return causes


def _step(step: Different, shares: Shares, free: bool, margin: float, *, alone: bool) -> Cause:
    loss = shares.steps.get(step.key)
    exchanged = loss is not None
    if loss is None and alone:
        loss = shares.preprocessing  # the only step that differs is all of it
    by_itself = loss is not None and costs_nothing(loss, margin)
    undone = free and not by_itself and loss is not None and loss.low > 0
    if free and not by_itself:
        exchanged, loss = False, shares.preprocessing  # it is the whole chain that speaks for it
    harmless = free or by_itself
    strength: Strength = "weak"
    if loss is not None:
        strength = _strength(loss, harmless=harmless, margin=margin)
    if strength == "strong" and not exchanged:
        strength = "moderate"
    return Cause(
        component="preprocessing",
        kind=step.kind or "unknown",
        key=step.key,
        step=step.name,
        explains=loss,
        strength=strength,
        harmless=harmless,
        undone=undone,
    )


def _model(shares: Shares, seen: Seen, margin: float) -> list[Cause]:
    if not seen.model_differs:
        return []
    harmless = costs_nothing(shares.model, margin)
    component: Component = "postprocessing" if seen.raw_equal else "model"
    return [
        Cause(
            component=component,
            kind="unknown",
            key=None,
            step=None,
            explains=shares.model,
            strength=_strength(shares.model, harmless=harmless, margin=margin),
            harmless=harmless,
        )
    ]


def _unmask(causes: list[Cause], shares: Shares, margin: float) -> list[Cause]:
    """Take back "harmless" where real rows show no loss but validation, which has room, does."""
    shown = any(cause.explains and cause.explains.low > 0 for cause in causes if not cause.harmless)
    if shown or shares.on_sim is None or shares.on_sim.low <= margin:
        return causes
    return [
        replace(cause, harmless=False, strength="weak", masked=True, undone=False)
        for cause in causes
    ]


def _place(cause: Cause) -> tuple[bool, bool, float, str]:
    loss = cause.explains
    return (
        cause.harmless,
        loss is None or loss.low <= 0,
        -loss.value if loss else 0.0,
        cause.key or cause.component,
    )
