"""Which differences are causes, by what each costs, worst first."""

from collections.abc import Sequence
from dataclasses import replace

from assay.causes import (
    UNKNOWN,
    Cause,
    Component,
    Different,
    Seen,
    Strength,
    Suspected,
    costs_nothing,
    strength_of,
)
from assay.data_causes import LIKELY, NOT_STATED, data_causes
from assay.intervals import Interval
from assay.shares import DEPLOYMENT, MODEL, POSTPROCESSING, Shares


def rank(shares: Shares, seen: Seen, *, margin: float) -> tuple[Cause, ...]:
    """Order the causes: what costs most first, the undecided next, harmless differences last.

    The undecided are ordered by how many answers they change, which needs no labels. Of the data
    only that is asked which the reference itself loses: what the candidate explains is not charged
    to them.

    Args:
        shares: of the gap.
        seen: which parts differ at all; a part that does not differ is never accused.
        margin: what nobody would miss, in the metric.
    """
    found = [*_steps(shares, seen, margin), *_models(shares, seen, margin)]
    causes = _unmask([_bare(one, found, shares, margin) for one in found], shares, margin)
    of_data = [one for one in seen.suspects if one.component == "data"]
    causes += data_causes(shares, of_data, domains_part=seen.domains_part, margin=margin)
    return tuple(sorted(causes, key=_place))


def _steps(shares: Shares, seen: Seen, margin: float) -> list[Cause]:
    if shares.preprocessing is None:  # what no chain of tensors shows is charged to no step
        return []
    whole = shares.bounded(shares.preprocessing)
    # What counts is what the deployed chain loses: a step that a later one undoes is no cause.
    free = costs_nothing(whole, margin)
    alone = len(seen.steps) == 1
    causes = [_step(step, shares, whole, margin, alone=alone) for step in seen.steps]
    explained = any(cause.clear for cause in causes)
    if not free and whole.low > 0 and not explained:
        left = Cause(
            component="preprocessing",
            kind=UNKNOWN,
            key=None,
            step=seen.first_differing_step,
            explains=whole,
            strength="moderate",
            harmless=False,
        )
        causes = [cause for cause in causes if cause.explains or cause.harmless]
        causes.append(left)
    return causes


def _step(step: Different, shares: Shares, whole: Interval, margin: float, *, alone: bool) -> Cause:
    loss, free = shares.steps.get(step.key), costs_nothing(whole, margin)
    exchanged = loss is not None
    if loss is None and alone:
        loss = whole  # the only step that differs is all of it
    by_itself = loss is not None and costs_nothing(loss, margin)
    costly = loss is not None and loss.low > 0
    # Where the model or its rule makes up for a step, mending that step alone would do harm.
    made_up = costly and loss is not None and whole.low <= 0 and whole.high < loss.low
    undone = (free or made_up) and not by_itself and costly
    if (free or made_up) and not by_itself:
        exchanged, loss = False, whole  # it is the whole chain that speaks for it
    spared = _changes_nothing(shares, step.key, loss, margin)
    harmless = free or by_itself or spared
    strength: Strength = "weak"
    if spared:
        strength = "strong"
    elif loss is not None:
        strength = strength_of(loss, harmless=harmless, margin=margin, spread=shares.spread)
    if strength == "strong" and not exchanged:
        strength = "moderate"
    return Cause(
        component="preprocessing",
        kind=step.kind or UNKNOWN,
        key=step.key,
        step=step.name,
        explains=loss,
        strength=strength,
        harmless=harmless,
        undone=undone,
        changes=shares.changed.get(step.key),
        explained=step.explained if step.kind else 0.0,
        alternatives=step.alternatives,
    )


def _changes_nothing(shares: Shares, key: str, loss: Interval | None, margin: float) -> bool:
    """Tell whether so few answers change that labels could not show a loss beyond the margin."""
    changes = shares.changed.get(key)
    if changes is None or not shares.of_labels or (loss is not None and loss.low > 0):
        return False
    return costs_nothing(changes, margin)


def _models(shares: Shares, seen: Seen, margin: float) -> list[Cause]:
    """Charge the model and, where it was exchanged apart, the postprocessing with its part."""
    named = _by_fit(seen.suspects)
    causes = []
    if shares.postprocessing is not None and seen.rules_differ:
        kinds = [one for one in named if one.component == POSTPROCESSING]
        causes.append(_part(POSTPROCESSING, shares.postprocessing, kinds, shares, seen, margin))
    taken = any(not cause.harmless for cause in causes)
    kinds = [
        one
        for one in named
        # A doubled softmax may stand in the model's file: its name tells whose fault it is.
        if one.component == MODEL or (one.component == POSTPROCESSING and not taken)
    ]
    return causes + _model(shares, seen, kinds, margin)


def _model(shares: Shares, seen: Seen, kinds: list[Suspected], margin: float) -> list[Cause]:
    loss = shares.model or shares.parts.get(DEPLOYMENT)
    apart = shares.postprocessing is not None
    if loss is None:
        return []
    if not seen.model_differs or (apart and seen.raw_equal):
        # In another arrangement of the rows, as of batches, it may cost what it does not cost here.
        kinds = [one for one in kinds if one.component == MODEL and one.costs]
        return [_part(MODEL, loss, kinds, shares, seen, margin)] if kinds else []
    component: Component = "postprocessing" if seen.raw_equal else "model"
    if kinds:
        component = "postprocessing" if kinds[0].component == POSTPROCESSING else "model"
    if shares.model is None:
        component = "deployment"
    return [_part(component, loss, kinds, shares, seen, margin)]


def _bare(cause: Cause, found: Sequence[Cause], shares: Shares, margin: float) -> Cause:
    """Charge a model with what it loses alone, where a costlier step hides it.

    Behind inputs that are ruined another model may lose less than the right one, and its share be a
    gain. Once they are mended, what is left is what it loses by itself.
    """
    alone, ruined = shares.model_alone, shares.preprocessing
    hidden = cause.component == MODEL and not cause.clear and alone is not None
    costly = any(one.component == "preprocessing" and one.clear for one in found)
    if not (hidden and costly and alone and ruined and ruined.low > 0):
        return cause
    loss = shares.bounded(alone)
    if loss.low <= margin:
        return cause
    strength = strength_of(loss, harmless=False, margin=margin, spread=shares.spread)
    return replace(cause, explains=loss, harmless=False, alone=True, strength=strength)


def _by_fit(suspects: Sequence[Suspected]) -> list[Suspected]:
    """Order those that have a name: what was shown to cost first, then by how well it fits."""

    def place(one: Suspected) -> tuple[bool, float, int]:
        return not one.costs, -_explained(one), one.at

    found = [one for one in suspects if one.kind != UNKNOWN]
    return sorted((one for one in found if (one.p_value or 0.0) <= LIKELY), key=place)


def _unnamed(component: Component, seen: Seen) -> Suspected | None:
    """Find whoever saw that a part differs and does not know how."""
    found = (one for one in seen.suspects if one.kind == UNKNOWN and one.component == component)
    return next(found, None)


def _explained(one: Suspected | None) -> float:
    if one is None or one.kind == UNKNOWN:
        return 0.0
    return NOT_STATED if one.explained is None else one.explained


def _part(  # noqa: PLR0917  what `rank` was given, too
    component: Component,
    loss: Interval,
    kinds: list[Suspected],
    shares: Shares,
    seen: Seen,
    margin: float,
) -> Cause:
    best = kinds[0] if kinds else _unnamed(component, seen)
    is_rule = loss is shares.postprocessing
    loss = shares.bounded(loss)
    changes = None if shares.model is None or is_rule else shares.changed.get(MODEL)
    spared = shares.model is not None and _changes_nothing(shares, MODEL, loss, margin)
    harmless = costs_nothing(loss, margin) or spared
    if harmless and best is not None and best.costs and best.cost is not None:
        # It costs in an arrangement of the rows that the exchange did not have, as of batches.
        loss, harmless, spared = best.cost, costs_nothing(best.cost, margin), False
    strength = strength_of(loss, harmless=harmless, margin=margin, spread=shares.spread)
    return Cause(
        component=component,
        kind=best.kind if best else UNKNOWN,
        key=None,
        step=None,
        explains=loss,
        strength="strong" if spared and component != DEPLOYMENT else strength,
        harmless=harmless,
        changes=changes,
        suspect=best,
        explained=_explained(best),
    )


def _unmask(causes: list[Cause], shares: Shares, margin: float) -> list[Cause]:
    """Take back "harmless" where real rows show no loss but validation, which has room, does."""
    shown = any(
        cause.clear or (cause.changes and cause.changes.low > margin)
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
    size = loss if cause.clear or cause.changes is None else cause.changes
    return (
        cause.harmless,
        not cause.clear,
        -size.value if size else 0.0,
        cause.key or cause.component,
    )
