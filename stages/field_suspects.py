"""What the field's data are suspected of, the likeliest first, each with what it costs."""

from dataclasses import dataclass, replace

from assay.alterations import BURNT
from assay.criteria import drop
from assay.explanations import Explained
from assay.intervals import Interval
from stages.field_experiments import Experiments, Told
from stages.figures import estimate
from stages.reports.field import ConfusionReport, NoiseReport, PriorReport
from stages.reports.suspect import Suspect
from stages.stage import Estimate

LOSSY = ("sensor_noise", "blur", "dead_channel", "stuck_value")
"""What no alteration can give back: its cost shows where simulation is made so."""
UNDOABLE = ("sensor_noise", "blur")
"""Of these what can be undone is tried: where that regains nothing, and something else regains half
of the loss (of the others nearly all: nothing was gone), simulation made so only shows that the
model does not like it."""
ENOUGH = 0.5  # of the loss
RULED = ("exchanged", "off_by_one", "mirrored")
PART = 0.25  # of the loss: less is no suspect of its own
STANDS = 4  # doubts that neighbours confirm, for each that they refute
AS_WELL = 0.8  # of what a suspect regains: another kind that regains so much may be it
MOST_AS_WELL = 2
MOSTLY = 0.8  # of the loss: with so much explained the rest needs no name

ACTIONS = {
    "channel_offset": "Take the offset out in front of the model, and ask who added it.",
    "channel_scale": "Bring the channel back to the unit that the model was trained on.",
    "swapped_channel": "Put the channels back in their order, and check the wiring or the driver.",
    "lag": "Move the late sensor back by the lag, and synchronise the clocks.",
    "inverted": "Invert it back, and ask how the sensor is mounted.",
    "turned": "Turn it back, and ask how the sensor is mounted.",
    "exposure": "Bring exposure back to what simulation has, at the sensor if possible.",
    "contrast": "Bring contrast back to what simulation has.",
    "colour": "Correct the white balance in front of the model.",
    "sensor_noise": "Take the noise off at the sensor; until then filter it, or train with it.",
    "blur": "Focus the sensor; until then sharpen, or train with blur.",
    "dead_channel": "Replace the sensor; until then do not serve on rows without it.",
    "stuck_value": "Repair the sensor; until then do not serve on rows that hold it.",
    "class_prior": "Nothing is broken in the model: correct its answers for the field's shares.",
    "label_noise": "Have the doubtful rows labelled again before the model is judged by them.",
    "sim_to_real_gap": "Fine-tune on real labels, or make the simulator show what the field has.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What labels say."""

    prior: PriorReport | None
    noise: NoiseReport | None
    confusion: ConfusionReport | None
    targets: Suspect | None = None


def suspects(
    found: Experiments,
    explained: Explained,
    labels: Labels,
    gap: Interval,
    *,
    margin: float,
    domains_part: str | None,
) -> tuple[list[Suspect], Interval]:
    """List the suspects by what they cost; and what remains beside the first."""
    least = max(margin, PART * gap.value)
    claimed = [
        found.told[key]
        for key in explained.keys
        if found.told[key].alteration.evidence or found.told[key].change.value >= ENOUGH * gap.value
    ]
    made = [_claimed(found, one, explained, gap) for one in claimed]
    made += _reproduced(found, claimed, made, gap, least)
    made += _of_labels(labels, gap, least)
    made = [one for one in made if one.cost is not None and one.cost.value > margin]
    made.sort(key=lambda one: -_worth(one))
    remaining = _remaining(made, gap)
    if remaining.low > 0 and remaining.value > max(margin, (1 - MOSTLY) * gap.value):
        made.append(_rest(found, remaining, bool(made), domains_part))
    return made, remaining


def _worth(one: Suspect) -> float:
    return (one.cost.value if one.cost else 0.0) * (one.explained or 0.0)


def _as_well(found: Experiments, told: Told, explained: Explained) -> list[Told]:
    """List the best of each other kind whose undoing regains nearly all of what this one does."""
    own = told.alteration
    least = AS_WELL * told.change.value
    same = [found.told[key] for key, other in explained.same_as.items() if other == own.key]
    best: dict[str, Told] = {}
    for one in sorted(same, key=lambda one: -one.change.value):
        if one.alteration.kind != own.kind and one.change.value >= least:
            best.setdefault(one.alteration.kind, one)
    return list(best.values())[:MOST_AS_WELL]


def _claimed(found: Experiments, told: Told, explained: Explained, gap: Interval) -> Suspect:
    one, as_well = told.alteration, _as_well(found, told, explained)
    metric = found.metric
    whole = metric.loss(gap.value)
    before = metric.level(found.level(found.base["real"].scores, "real").value)
    after = metric.level(found.level(told.scores, "real").value)
    undone = (
        f"Undone, on {told.change.n} real rows of role diagnose: {before} before, {after} after "
        f"({metric.change(told.change, rows=False)})."
    )
    evidence = [*one.evidence, undone]
    evidence += [
        f"It could as well be: {it.alteration.title}, undone regaining "
        f"{metric.loss(it.change.value)}."
        for it in as_well
    ]
    alike = found.partner(one)
    if alike is not None:
        evidence.append(
            f"The other way round: {alike.alteration.title} loses "
            f"{metric.loss(alike.change.value)} of the {whole}."
        )
    return Suspect(
        component="data",
        kind=one.kind,
        title=f"In the field's data, {one.title}",
        where=one.where,
        cost=estimate(told.change),
        p_value=found.p_holm[one.key],
        explained=max(0.5, 1 - one.simplicity / 200),
        other_kinds=[it.alteration.kind for it in as_well],
        evidence=evidence,
        action=ACTIONS.get(one.kind, ""),
        questions=[f"Who can say since when {one.title}?"],
    )


def _both_ways(found: Experiments, told: Told, gap: Interval) -> bool:
    """Tell whether simulation made so loses too; a pliable undoing regains by other ways."""
    partner = found.partner(told.alteration)
    return partner is None or partner.change.value >= PART * gap.value


def _reproduced(
    found: Experiments, claimed: list[Told], made: list[Suspect], gap: Interval, least: float
) -> list[Suspect]:
    """Suspect what cannot be undone, where simulation made alike loses as real rows do."""
    metric = found.metric
    regained = max((it.change.value for it in claimed if _both_ways(found, it, gap)), default=0.0)
    added: list[Suspect] = []
    for told in found.told.values():
        one = told.alteration
        lossy = one.kind in LOSSY or one.key == BURNT
        if one.family != "reproduce" or not lossy or told.change.low <= 0:
            continue
        cost = told.change
        if cost.value > gap.value:  # more than is lost at all
            cut = gap.value / cost.value
            cost = replace(cost, value=gap.value, low=cost.low * cut, high=cost.high)
        undone = [it for it in made if it.kind == one.kind and it.where == one.where]
        if cost.value < least:
            continue
        if undone and undone[0].cost is not None and undone[0].cost.value >= cost.value:
            continue
        enough = ENOUGH if one.kind in UNDOABLE else MOSTLY
        if not undone and regained >= enough * gap.value:
            continue
        for it in undone:
            made.remove(it)
        whole = metric.loss(gap.value)
        loses = (
            f"{one.title[0].upper()}{one.title[1:]} loses {metric.loss(told.change.value)} "
            f"({metric.change(told.change)}), where real rows lose {whole}."
        )
        evidence = [
            *one.evidence,
            loses,
            *(line for it in undone for line in it.evidence if line.startswith("Undone")),
        ]
        added.append(
            Suspect(
                component="data",
                kind=one.kind,
                title=f"{_named(one.kind, one.where)}, which costs "
                f"{metric.loss(cost.value)} of {whole} where simulation is made so",
                where=one.where,
                cost=estimate(cost),
                explained=0.85,
                evidence=evidence,
                action=ACTIONS[one.kind],
                questions=["Is it one device, or all of them?"],
            )
        )
    return added


def _named(kind: str, where: str | None) -> str:
    words = {
        "sensor_noise": "noise of the sensor",
        "blur": "blur",
        "dead_channel": "a dead channel",
        "stuck_value": "a stuck value",
        "exposure": "more light than the sensor can tell",
    }
    return f"{where}: {words[kind]}" if where else words[kind]


def _of_labels(labels: Labels, gap: Interval, least: float) -> list[Suspect]:
    made = []
    prior, noise, confusion = labels.prior, labels.noise, labels.confusion
    if prior and prior.explains.low > 0 and prior.explains.value >= least:
        made.append(_prior(prior))
    if noise and _doubtful(noise, least):
        made.append(_noise(noise))
    ruled = confusion is not None and any(one.kind in RULED for one in confusion.named)
    regained = confusion.regained.value if confusion and confusion.regained else 0.0
    if confusion and ruled and regained >= ENOUGH * gap.value:
        made.append(_relabelled(confusion))
    if labels.targets is not None:
        made.append(labels.targets)
    return made


def _doubtful(noise: NoiseReport, least: float) -> bool:
    sure = noise.share.low > 0 and noise.share.value >= least
    return sure and noise.confirmed >= STANDS * max(1, noise.refuted)


def _prior(prior: PriorReport) -> Suspect:
    widest = sorted(prior.classes, key=lambda one: -abs(one.real - one.sim))[:3]
    says = "was not refuted" if prior.holds else "does not hold"
    would = (
        "With the field's shares simulation's own success in each class would lose "
        f"{100 * prior.explains.value:.1f} points."
    )
    return Suspect(
        component="data",
        kind="class_prior",
        title="classes are more or less frequent than in simulation",
        cost=prior.explains,
        p_value=prior.p_shift,
        explained=0.95 if prior.holds else 0.5,
        evidence=[
            *(
                f"class {one.name}: {one.sim:.0%} of simulation, {one.real:.0%} of the field"
                for one in widest
            ),
            would,
            f"That answers within a class are as before {says} (p = {prior.p_assumption:.2g}).",
        ],
        action=ACTIONS["class_prior"],
        questions=["Are the field's rows a fair sample of what is to be served?"],
    )


def _noise(noise: NoiseReport) -> Suspect:
    pairs = [f"{one.n} rows labelled {one.label} look like {one.looks_like}" for one in noise.pairs]
    return Suspect(
        component="data",
        kind="label_noise",
        title=f"{100 * noise.share.value:.0f} % of the labels of real rows are wrong",
        cost=noise.share,
        explained=0.95,
        evidence=[noise.says, *pairs[:3]],
        action=ACTIONS["label_noise"],
        questions=["Who labelled the real rows, and were some labelled twice?"],
    )


def _relabelled(confusion: ConfusionReport) -> Suspect:
    assert confusion.regained is not None  # noqa: S101  made sure of
    named = [one.title for one in confusion.named[:3]]
    mended = (
        "Read by another map, found on other rows, the answers regain "
        f"{100 * confusion.regained.value:.1f} points."
    )
    return Suspect(
        component="data",
        kind="label_noise",
        title="labels of real rows follow another map of classes",
        where="map",
        cost=confusion.regained,
        explained=0.7,
        evidence=[mended, *named],
        action="Compare the lists of classes of simulation and of whoever labelled the field.",
        questions=["Which list of classes were the real rows labelled by?"],
    )


def _remaining(made: list[Suspect], gap: Interval) -> Interval:
    """Bound what of the loss is left beside the first suspect.

    As if both were measured on rows of their own: on shared ones they rise and fall together, and
    what is left is surer than said.
    """
    cost: Estimate | None = made[0].cost if made else None
    if cost is None:
        return gap
    return drop(gap, Interval(value=cost.value, low=cost.low, high=cost.high, n=cost.n))


def _rest(
    found: Experiments, remaining: Interval, beside: bool, domains_part: str | None
) -> Suspect:
    metric = found.metric
    title = "Something in the field that no alteration tried makes up for"
    if beside:
        title = f"{metric.loss(remaining.value)} that what is named above does not make up for"
    tried = len(found.claims())
    return Suspect(
        component="data",
        kind="sim_to_real_gap" if domains_part else "unknown",
        title=title,
        cost=estimate(remaining),
        explained=0.6 if beside else 0.8,
        evidence=[
            f"{tried} alterations of the field's data were tried.",
            *([domains_part] if domains_part else []),
        ],
        action=ACTIONS["sim_to_real_gap"],
        questions=["What does the field show that the simulator never does?"],
    )
