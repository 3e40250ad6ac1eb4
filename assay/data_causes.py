"""Which causes in the data share what the reference itself loses from validation to the field."""

from collections.abc import Sequence
from dataclasses import replace

from assay.causes import GAP, OF_VALIDATION, UNKNOWN, UNNAMED, Cause, Suspected, costs_nothing
from assay.intervals import Interval
from assay.shares import Shares

WORTH_A_NAME = 0.5  # of the loss: a smaller rest, beside a named cause, is not told as a cause
WORTH_BESIDE = 0.25  # of the loss: what regains less than that may regain what the first one does
NOT_STATED = 0.7  # what a name counts for that does not say how much it explains
LIKELY = 0.05  # a p-value beyond it speaks against a suspect that nothing else shows


def data_causes(
    shares: Shares, suspects: Sequence[Suspected], *, domains_part: bool, margin: float
) -> list[Cause]:
    """Name what costs, the dearest first, until what is left may be nothing.

    The loss with nothing from the candidate is what there is to explain: without it, whatever
    differs is harmless, and nobody is accused. A validation set that was too good is told of in any
    case: it is a fact about the figure that the field is held against.

    Args:
        shares: of the gap.
        suspects: of the data; each with what undoing it alone regains.
        domains_part: whether a second look sees simulation leave reality.
        margin: what nobody would miss, in the metric.
    """
    loss = shares.data
    there = loss is not None and loss.low > 0 and not costs_nothing(loss, margin)
    told = [one for one in suspects if one.kind in OF_VALIDATION and (one.costs or _likely(one))]
    causes = [_of_validation(one, loss if there else None, margin) for one in told]
    if loss is None or not there:
        return causes
    left = loss.value - sum(_value(one.explains) for one in causes if not one.harmless)
    noise = loss.value - loss.low
    for one in _proven(suspects):
        if causes and (left <= max(margin, noise) or _value(one.cost) < WORTH_BESIDE * loss.value):
            break
        causes.append(_named(one))
        left -= _value(one.cost)
    enough = WORTH_A_NAME * loss.value if causes else 0.0
    if left > max(margin, enough, noise if causes else 0.0):
        rest = next((one for one in suspects if one.kind in UNNAMED), None)
        parted = domains_part or (rest is not None and rest.kind == GAP)
        causes.append(_rest(loss, left, rest, domains_part=parted))
    return causes


def evidence_of(one: Suspected) -> float:
    """Order suspects of one loss: what undoing them regains, by how well the name fits."""
    fits = NOT_STATED if one.explained is None else one.explained
    return _value(one.cost) * fits


def _proven(suspects: Sequence[Suspected]) -> list[Suspected]:
    found = [
        one
        for one in suspects
        if one.costs and one.kind not in (*OF_VALIDATION, *UNNAMED) and _likely(one)
    ]
    return sorted(found, key=lambda one: (-evidence_of(one), one.at))


def _likely(one: Suspected) -> bool:
    return one.p_value is None or one.p_value <= LIKELY


def _of_validation(one: Suspected, loss: Interval | None, margin: float) -> Cause:
    """Take a fact about validation as a cause; without a clean row it may be all of the loss."""
    found = replace(one, cost=loss) if one.cost is None and one.is_fact else one
    return replace(
        _named(found),
        strength="strong" if found.costs or found.is_fact else "weak",
        harmless=found.cost is not None and _is_shown(found.cost, margin),
        suspect=one,
    )


def _is_shown(cost: Interval, margin: float) -> bool:
    """Tell whether a cost is shown to be harmless: few rows that are all alike show nothing."""
    return cost.low < cost.high and costs_nothing(cost, margin)


def _named(one: Suspected) -> Cause:
    return Cause(
        component="data",
        kind=one.kind,
        key=None,
        step=None,
        explains=one.cost,
        strength="strong" if one.costs else "moderate",
        harmless=False,
        suspect=one,
        explained=NOT_STATED if one.explained is None else one.explained,
    )


def _rest(loss: Interval, left: float, told: Suspected | None, *, domains_part: bool) -> Cause:
    taken = loss.value - left
    return Cause(
        component="data",
        kind=GAP if domains_part else UNKNOWN,
        key=None,
        step=None,
        explains=replace(loss, value=left, low=loss.low - taken, high=loss.high - taken),
        strength="strong" if domains_part else "moderate",
        harmless=False,
        suspect=told,
    )


def _value(found: Interval | None) -> float:
    return 0.0 if found is None else found.value
