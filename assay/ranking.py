"""Which differences are causes, by what each costs, worst first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.intervals import Interval
from assay.shares import DEPLOYMENT, MODEL, Shares

Component = Literal["preprocessing", "model", "postprocessing", "deployment", "data"]
Strength = Literal["strong", "moderate", "weak"]


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
    model_differs: bool  # the models answer differently on the same tensors, or on their own
    raw_equal: bool  # ... though their raw outputs are equal
    domains_part: bool  # a second look, at layers or labels, sees simulation leave reality


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
    changes: Interval | None = None  # share of answers, of more rows than have labels
    masked: bool = False  # real rows cannot show its cost: the reference fails on them already

    @property
    def undecided(self) -> bool:
        """Nothing shows that it costs anything, and nothing that it does not."""
        unknown = self.explains is None or self.explains.low <= 0
        return unknown and not self.harmless and not self.masked


def rank(shares: Shares, seen: Seen, *, margin: float) -> tuple[Cause, ...]:
    """Order the causes: what costs most first, the undecided next, harmless differences last.

    The undecided are ordered by how many answers they change, which needs no labels.

    Args:
        shares: of the gap.
        seen: which parts differ at all; a part that does not differ is never accused.
        margin: what nobody would miss, in the metric.
    """
    found = [*_steps(shares, seen, margin), *_model(shares, seen, margin)]
    causes = _unmask(found, shares, margin)
    data = shares.data
    if data is not None and data.low > 0 and not costs_nothing(data, margin):
        strength: Strength = "strong" if seen.domains_part else "moderate"
        kind = "sim_to_real_gap" if seen.domains_part else "unknown"
        causes.append(_cause("data", kind, data, strength))
    return tuple(sorted(causes, key=_place))


def costs_nothing(loss: Interval, margin: float) -> bool:
    """Tell whether a loss is shown to lie within the margin: not to see one is not to have none.

    >>> costs_nothing(Interval(value=0.001, low=-0.01, high=0.015, n=100), 0.02)
    True
    >>> costs_nothing(Interval(value=0.01, low=-0.2, high=0.22, n=100), 0.02)
    False
    """
    return loss.high <= margin


def _strength(loss: Interval, *, harmless: bool, margin: float, spread: float) -> Strength:
    """Grade an intervention on pairs; harmless is strong once 3 / n is within the margin too.

    (Hanley 1983: n rows without a single loss are compatible with a share of 3 / n.)
    """
    if harmless:
        return "strong" if 3 * spread / loss.n <= margin else "moderate"
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
    if shares.preprocessing is None:  # what no chain of tensors shows is charged to no step
        return []
    whole = shares.bounded(shares.preprocessing)
    # What counts is what the deployed chain loses: a step that a later one undoes is no cause.
    free = costs_nothing(whole, margin)
    alone = len(seen.steps) == 1
    causes = [_step(step, shares, whole, margin, alone=alone) for step in seen.steps]
    explained = any(cause.explains and cause.explains.low > 0 for cause in causes)
    if not free and whole.low > 0 and not explained:
        left = _cause("preprocessing", "unknown", whole, "moderate")
        causes = [cause for cause in causes if cause.explains or cause.harmless]
        causes.append(replace(left, step=seen.first_differing_step))
    return causes


def _step(step: Different, shares: Shares, whole: Interval, margin: float, *, alone: bool) -> Cause:
    loss, free = shares.steps.get(step.key), costs_nothing(whole, margin)
    exchanged = loss is not None
    if loss is None and alone:
        loss = whole  # the only step that differs is all of it
    by_itself = loss is not None and costs_nothing(loss, margin)
    undone = free and not by_itself and loss is not None and loss.low > 0
    if free and not by_itself:
        exchanged, loss = False, whole  # it is the whole chain that speaks for it
    spared = _changes_nothing(shares, step.key, loss, margin)
    harmless = free or by_itself or spared
    strength: Strength = "weak"
    if spared:
        strength = "strong"
    elif loss is not None:
        strength = _strength(loss, harmless=harmless, margin=margin, spread=shares.spread)
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
        changes=shares.changed.get(step.key),
    )


def _changes_nothing(shares: Shares, key: str, loss: Interval | None, margin: float) -> bool:
    """Tell whether so few answers change that labels could not show a loss beyond the margin."""
    changes = shares.changed.get(key)
    if changes is None or not shares.of_labels or (loss is not None and loss.low > 0):
        return False
    return costs_nothing(changes, margin)


def _model(shares: Shares, seen: Seen, margin: float) -> list[Cause]:
    loss = shares.model or shares.parts.get(DEPLOYMENT)
    if not seen.model_differs or loss is None:
        return []
    loss = shares.bounded(loss)
    spared = shares.model is not None and _changes_nothing(shares, MODEL, loss, margin)
    harmless = costs_nothing(loss, margin) or spared
    component: Component = "postprocessing" if seen.raw_equal else "model"
    strength = _strength(loss, harmless=harmless, margin=margin, spread=shares.spread)
    if shares.model is None:
        component = "deployment"
    elif spared:
        strength = "strong"
    return [
        Cause(
            component=component,
            kind="unknown",
            key=None,
            step=None,
            explains=loss,
            strength=strength,
            harmless=harmless,
            changes=shares.changed.get(MODEL) if shares.model else None,
        )
    ]


def _unmask(causes: list[Cause], shares: Shares, margin: float) -> list[Cause]:
    """Take back "harmless" where real rows show no loss but validation, which has room, does."""
    shown = any(
        (cause.explains and cause.explains.low > 0)
        or (cause.changes and cause.changes.low > margin)
        for cause in causes
        if not cause.harmless
    )
    if shown or shares.on_sim is None or shares.on_sim.low <= margin:
        return causes
    return [
        replace(cause, harmless=False, strength="weak", masked=True, undone=False)
        for cause in causes
    ]


def _place(cause: Cause) -> tuple[bool, bool, float, str]:
    loss = cause.explains
    clear = loss is not None and loss.low > 0
    size = loss if clear or cause.changes is None else cause.changes
    return (
        cause.harmless,
        not clear,
        -size.value if size else 0.0,
        cause.key or cause.component,
    )
