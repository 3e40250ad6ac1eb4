"""What speaks for each answer to "what broke": figures between 0 and 1, by their names.

| figure | of an answer |
|---|---|
| clear | its cost's interval excludes 0 |
| sure | the cost over its standard error, 6 and more being 1 |
| share | its part of all that clearly costs something |
| material | the cost over five margins |
| named, explained | it has a name; the share of what differs that the name explains beyond 90 % |
| alternatives | other names that fit as well, 3 and more being 1 |
| composed | the name is a composition; of three it is 1 |
| first | nothing costs more than it |
| undecided | it may cost nothing |
| changes, moves | the share of answers that it changes, without labels; surely beyond the margin |
| sim_clear, sim_sure | the deployment's loss on validation, likewise; of what is not the data |
| harmless | its cost is shown to lie within the margin |
| fact | it was read off, not estimated |
| unlikely | its p-value, where there is one |
| step, model, data, rest | what it is of; the rest is what no name in the data explains |
| hint | it is no finding: a stage suspects it, and the metric does not show it |
| other | the second name of something that has a likelier one |
| part, sibling | ... which is a part of that name; which looks alike to it (`assay.siblings`) |
| as_well | ... which regains as much |
| none, none_* | nothing broke: no finding, the strongest one, the gap, and as above |
"""

from collections.abc import Sequence

from assay.causes import GAP, OF_VALIDATION, UNKNOWN, UNNAMED, Cause, Seen, Suspected
from assay.intervals import Interval
from assay.posterior import Weighed
from assay.shares import Shares
from assay.siblings import siblings

CERTAIN_Z = 6.0
NORMAL_95 = 3.92  # the width of a 95 % interval in standard errors
MANY_MARGINS = 5.0
MANY_NAMES = 3
WELL_FITTED = 0.9
MODELS = ("model", "postprocessing", "deployment")


def weigh(
    causes: Sequence[Cause], shares: Shares, seen: Seen, *, margin: float
) -> tuple[Weighed, ...]:
    """Say what speaks for each cause, for what is only suspected, and for nothing.

    Args:
        causes: as ranked.
        shares: of the gap.
        seen: what else was seen.
        margin: what nobody would miss, in the metric.
    """
    total = sum(_value(cause.explains) for cause in causes if cause.clear and not cause.harmless)
    dearest = max((_value(c.explains) for c in causes if _guilty(c)), default=0.0)
    found = []
    for at, cause in enumerate(causes):
        figures = _of_cause(cause, total, dearest, margin)
        if cause.component != "data" and not cause.harmless:
            figures |= _on_sim(shares.on_sim, margin)
        found.append(Weighed(component=cause.component, kind=cause.kind, figures=figures, cause=at))
        found += _others(cause, figures)
    used = {cause.suspect.at for cause in causes if cause.suspect is not None}
    found += [_hint(one, margin) for one in seen.suspects if one.at not in used]
    return (*found, _rest(causes, shares, seen, margin), _nothing(causes, shares, margin))


def _guilty(cause: Cause) -> bool:
    return cause.clear and not cause.harmless


def _of_cause(cause: Cause, total: float, dearest: float, margin: float) -> dict[str, float]:
    figures = _of_cost(cause.explains, margin) if not cause.harmless else {"harmless": 1.0}
    value = _value(cause.explains)
    if _guilty(cause):
        figures["share"] = min(1.0, value / total) if total > 0 else 0.0
        figures["first"] = float(value >= dearest)
    elif not cause.harmless:
        figures["undecided"] = 1.0
    figures |= _of_changes(cause, margin)
    if cause.masked:
        figures["clear"] = 1.0  # validation shows it
    figures |= _of_name(cause.kind, cause.explained, cause.alternatives)
    if cause.suspect is not None:
        figures |= _of_suspect(cause.suspect)
    return _told(figures | {_form(cause): 1.0})


def _of_cost(found: Interval | None, margin: float) -> dict[str, float]:
    if found is None:
        return {}
    value = found.value
    return {
        "clear": float(found.low > 0),
        "sure": _clipped(_z(found) / CERTAIN_Z),
        "material": _clipped(value / (MANY_MARGINS * margin)) if margin > 0 else 1.0,
    }


def _on_sim(found: Interval | None, margin: float) -> dict[str, float]:
    """Take what the whole candidate loses on validation, which has more rows and no other fault."""
    figures = _of_cost(found, margin)
    return {f"sim_{name}": figures[name] for name in ("clear", "sure") if figures.get(name)}


def _of_name(kind: str, explained: float, alternatives: int) -> dict[str, float]:
    if kind == UNKNOWN:
        return {}
    return {
        "named": 1.0,
        "explained": _clipped((explained - WELL_FITTED) / (1 - WELL_FITTED)),
        "alternatives": min(alternatives, MANY_NAMES) / MANY_NAMES,
        "composed": kind.count("+") / (MANY_NAMES - 1),
    }


def _of_suspect(one: Suspected) -> dict[str, float]:
    return {
        "fact": float(_is_fact(one)),
        "unlikely": 0.0 if one.p_value is None else _clipped(one.p_value),
    }


def _is_fact(one: Suspected) -> bool:
    return one.is_fact and one.kind in OF_VALIDATION


def _form(cause: Cause) -> str:
    if cause.component == "data":
        return "rest" if cause.kind in UNNAMED else "data"
    return "model" if cause.component in MODELS else "step"


def _others(cause: Cause, figures: dict[str, float]) -> list[Weighed]:
    """Doubt a name: it may be a kind that nothing explains, or, of several, only one of them."""
    less = figures | {"other": 1.0}
    if cause.kind in UNNAMED:
        others = UNNAMED if cause.component == "data" else ()
        return [_as(cause, kind, less) for kind in others if kind != cause.kind]
    parts = cause.kind.split("+")
    alike = {kind: 1.0 / at for at, kind in enumerate(siblings(cause.component, parts[0]), 1)}
    as_well = cause.suspect.other_kinds if cause.suspect is not None else ()
    return [
        *(_as(cause, part, less | {"part": 1.0}) for part in parts if len(parts) > 1),
        *(_as(cause, kind, less | {"as_well": 1.0}) for kind in as_well),
        *(_as(cause, kind, less | {"sibling": near}) for kind, near in alike.items()),
        _as(cause, UNKNOWN, less),
    ]


def _as(cause: Cause, kind: str, figures: dict[str, float]) -> Weighed:
    return Weighed(component=cause.component, kind=kind, figures=figures)


def _hint(one: Suspected, margin: float) -> Weighed:
    figures = _of_cost(one.cost, margin) | _of_suspect(one) | {"hint": 1.0}
    figures |= _of_name(one.kind, one.explained or 0.0, 0)
    form = "data" if one.component == "data" else "model"
    return Weighed(component=one.component, kind=one.kind, figures=_told(figures | {form: 1.0}))


def _rest(causes: Sequence[Cause], shares: Shares, seen: Seen, margin: float) -> Weighed:
    """Weigh what the reference loses and nobody named, where it is no finding."""
    kind = GAP if seen.domains_part else UNKNOWN
    figures = {"rest": 1.0, "hint": 1.0}
    if shares.data is not None and not any(cause.component == "data" for cause in causes):
        figures |= _of_cost(shares.data, margin)
    return Weighed(component="data", kind=kind, figures=_told(figures))


def _nothing(causes: Sequence[Cause], shares: Shares, margin: float) -> Weighed:
    accused = [cause for cause in causes if not cause.harmless and not cause.undecided]
    strongest = max((_z(c.explains) for c in accused if c.explains is not None), default=0.0)
    figures = {
        "none": 1.0,
        "none_quiet": float(not accused),
        "none_strongest": _clipped(strongest / CERTAIN_Z),
        "none_gap": _clipped(_z(shares.gap) / CERTAIN_Z) if shares.gap is not None else 0.0,
    }
    if any(cause.suspect and _is_fact(cause.suspect) and not cause.harmless for cause in causes):
        figures["none_fact"] = 1.0
    for cause in causes:
        for name, value in _of_changes(cause, margin).items():
            figures[f"none_{name}"] = max(value, figures.get(f"none_{name}", 0.0))
    sim = _on_sim(shares.on_sim, margin)
    figures |= {f"none_{name}": value for name, value in sim.items()}
    return Weighed(component="none", kind="none", figures=_told(figures))


def _of_changes(cause: Cause, margin: float) -> dict[str, float]:
    if cause.changes is None or cause.harmless:
        return {}
    return {
        "changes": _clipped(cause.changes.value),
        "moves": float(cause.changes.low > margin),
    }


def _z(found: Interval) -> float:
    """Return the figure over its standard error, as its interval shows it."""
    width = found.high - found.low
    if width <= 0:
        return CERTAIN_Z if found.value > 0 else 0.0
    return found.value / width * NORMAL_95


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _value(found: Interval | None) -> float:
    return 0.0 if found is None else found.value


def _told(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items() if value}
