"""What the causes are called, what speaks for them, what to do: sentences with figures."""

from dataclasses import dataclass

from assay.ranking import Cause, Shares
from stages.figures import Bounded, counted, interval, percent, points
from stages.reports.features import FeaturesAnswer, FeaturesReport
from stages.reports.parity import OwnDifference, ParityAnswer, ParityReport
from stages.reports.predict import PredictReport
from stages.reports.probe import KINDS, ProbeAnswer, ProbePoint, ProbeReport
from stages.reports.swap import SwapAnswer, SwappedStep, SwapReport
from stages.stage import NotApplicable

LATER = (
    "Labels: whether the real labels themselves are right.",
    "Leakage: whether validation shares samples with training.",
    "Invariance: whether batch size or batch order changes an answer.",
    "Class prior, blur, noise and exposure as causes inside the data.",
    "The runtime layer by layer: which layer's output differs first.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that a sentence may speak of."""

    shares: Shares
    parity: ParityAnswer
    swap: SwapAnswer
    features: FeaturesAnswer
    probe: ProbeAnswer
    candidate: PredictReport
    agreement: Bounded  # both models on the same tensors: share of rows with the same label
    measured_as: str
    labelled: bool
    margin: float  # metric points that nobody would miss


def title(cause: Cause, scene: Scene) -> str:
    """Name a cause in one line."""
    if cause.component == "preprocessing":
        own = own_difference(cause, scene)
        if own and own.transform:
            return f"Step `{own.step}`: {own.transform.name}"
        where = f"Step `{cause.step}`" if cause.step else "The preprocessing"
        return f"{where} differs, and no explanation fits"
    if cause.component == "model":
        return "The two models answer differently on the same tensors"
    if cause.component == "postprocessing":
        return "Equal raw outputs become different labels: the postprocessing differs"
    if cause.kind == "unknown":
        return "The reference itself does worse on real rows; nothing examined says why"
    return "Simulation and reality differ: the reference itself does worse on real rows"


def evidence(cause: Cause, scene: Scene) -> list[str]:
    """Say what speaks for a cause, the strongest first."""
    if cause.component == "preprocessing":
        return _step_evidence(cause, scene)
    if cause.component == "data":
        return _data_evidence(scene)
    return _model_evidence(cause, scene)


def action(cause: Cause, scene: Scene) -> str:
    """Say what restores service now."""
    if cause.harmless:
        return "Leave it, or align it when convenient: it does not explain the gap."
    if cause.component == "data":
        return _data_action(scene)
    if cause.component == "preprocessing":
        swapped = _swapped(cause, scene)
        if swapped is None:
            return "Serve the reference's preprocessing in front of the candidate's model."
        if not swapped.reference_call:
            return f"Leave out the candidate's step `{cause.step}`, then examine again."
        call = f" (`{swapped.reference_call}`)"
        return f"Give the candidate the reference's step `{cause.step}`{call}, then examine again."
    what = {"model": "weights and runtime", "postprocessing": "label map and thresholds"}
    return f"Serve the reference's {what[cause.component]}, then examine again."


def verdict(causes: tuple[Cause, ...], scene: Scene) -> str:
    """Say in a few sentences what broke, how much of the gap that is, and what to do now.

    A fault of the deployment leads even where the data cost more: it is what can be mended today.
    """
    guilty = [cause for cause in causes if not cause.harmless]
    num_spared = len(causes) - len(guilty)
    if not guilty:
        beside = f" {_harmless(num_spared)}" if num_spared else ""
        return _nothing_broke(scene) + beside
    beside = f" {_harmless(num_spared, ' beside it')}" if num_spared else ""
    clear = sorted((cause for cause in guilty if _is_clear(cause)), key=_is_data)
    undecided = [cause for cause in guilty[1:] if cause.undecided]
    beside = "".join(f" {_undecided(cause, scene)}" for cause in undecided) + beside
    if not clear:
        first = guilty[0]
        return f"{title(first, scene)}. {_unclear(first, scene)} {action(first, scene)}{beside}"
    first, *others = clear
    also = "".join(_also(cause) for cause in others)
    return f"{title(first, scene)}. {_cost(first, scene)}{also} {action(first, scene)}{beside}"


def mend_first(causes: tuple[Cause, ...], scene: Scene) -> list[str]:
    """List what to do in its order: the deployment before the data, the undecided last."""
    guilty = sorted(
        (cause for cause in causes if not cause.harmless),
        key=lambda cause: (cause.undecided, _is_data(cause)),
    )
    return list(dict.fromkeys(action(cause, scene) for cause in guilty))


def _is_clear(cause: Cause) -> bool:
    return cause.explains is not None and cause.explains.low > 0


def _value(cause: Cause) -> float:
    return cause.explains.value if cause.explains else 0.0


def _is_data(cause: Cause) -> bool:
    return cause.component == "data"


def _cost(cause: Cause, scene: Scene) -> str:
    loss, gap = _value(cause), scene.shares.gap.value
    if not scene.labelled:
        return f"It costs {points(loss)} of agreement."
    if points(loss) == points(gap):
        return f"That is all of the {points(gap)} between validation and the field."
    return f"It costs {points(loss)}; validation and the field are {points(gap)} apart."


def _also(cause: Cause) -> str:
    cost = points(_value(cause))
    if _is_data(cause):
        return f" The reference itself loses {cost} from validation to real rows."
    names = {"model": "The model", "postprocessing": "The postprocessing"}
    step = f"Step `{cause.step}`" if cause.step else "The rest of the preprocessing"
    return f" {names.get(cause.component, step)} costs {cost} more."


def _unclear(cause: Cause, scene: Scene) -> str:
    rows = f"{scene.shares.candidate.n} real rows do not show"
    if not cause.undecided or cause.explains is None:
        return f"{rows} what it costs."
    return f"{rows} whether it costs anything: undecided ({interval(cause.explains)})."


def _undecided(cause: Cause, scene: Scene) -> str:
    about = interval(cause.explains) if cause.explains else "it could not be measured"
    named = title(cause, scene)
    return f"Undecided beside it: {named[0].lower()}{named[1:]} ({about})."


def _harmless(number: int, where: str = "") -> str:
    words = {1: "One", 2: "Two", 3: "Three", 4: "Four"}
    many = number > 1
    noun, verb = ("differences", "are") if many else ("difference", "is")
    return f"{words.get(number, number)} {noun}{where} {verb} harmless."


def not_examined(scene: Scene) -> list[str]:
    """List what would have to be looked at before "nothing else" could be said."""
    said = []
    for what, answer in (
        ("Preprocessing step by step", scene.parity),
        ("Exchange of single steps", scene.swap),
        ("Layer by layer", scene.features),
        ("Few-shot fine-tuning", scene.probe),
    ):
        if isinstance(answer, NotApplicable):
            said.append(f"{what}: {answer.not_applicable}")
    if not scene.labelled:
        said.append(
            "Accuracy on real rows: none of them has a label. A hundred would show most gaps."
        )
    return [*said, *LATER]


def own_difference(cause: Cause, scene: Scene) -> OwnDifference | None:
    """Find the step that a cause is about."""
    if not isinstance(scene.parity, ParityReport):
        return None
    return next((own for own in scene.parity.own if own.key == cause.key), None)


def best_point(probe: ProbeReport) -> ProbePoint:
    """Choose what to do with labels: from scratch if pre-training hurts, else the surest gain."""
    most = max(point.labels for point in probe.points)
    at_most = [point for point in probe.points if point.labels == most]
    scratch = [point for point in at_most if point.kind == "scratch"]
    if probe.pretraining == "hurts" and scratch:
        return scratch[0]
    return max(at_most, key=lambda point: point.accuracy.low)


def _swapped(cause: Cause, scene: Scene) -> SwappedStep | None:
    if not isinstance(scene.swap, SwapReport):
        return None
    return next((step for step in scene.swap.steps if step.key == cause.key), None)


def _step_evidence(cause: Cause, scene: Scene) -> list[str]:
    said = []
    own, swapped, loss = own_difference(cause, scene), _swapped(cause, scene), cause.explains
    alone = scene.shares.steps.get(cause.key or "")
    if own and own.transform:
        said.append(
            f"On the same input the candidate's output is the reference's, {own.transform.name}: "
            f"that explains {percent(own.transform.explained)} of the squared difference."
        )
        if own.transform.alternatives:
            said.append(f"It could as well be: {', '.join(own.transform.alternatives)}.")
    elif own:
        size = "" if own.max_abs is None else f" by up to {own.max_abs:.4g}"
        said.append(
            f"On the same input the outputs differ{size}; none of the known transforms fits."
        )
    if alone:
        turned = (
            "changes nothing" if not any((alone.low, alone.value, alone.high)) else _moves(alone)
        )
        said.append(
            f"The reference with only this step from the candidate {turned} on real rows "
            f"({interval(alone)})."
        )
    elif loss:
        said.append(
            f"All of the candidate's preprocessing together costs {points(loss.value)} "
            f"({interval(loss)}); this step could not be exchanged alone."
        )
    if swapped and swapped.error:
        said.append(f"The candidate's step cannot take the reference's input: {swapped.error}")
    if swapped:
        said.append(f"{_calls(swapped)}.")
    return said + _deployed(cause, scene) + _caveats(cause, scene)


def _deployed(cause: Cause, scene: Scene) -> list[str]:
    """Compare the sides as they are deployed, row by row, where a difference may cost something."""
    if cause.harmless or not scene.labelled:
        return []
    found = scene.shares.paired
    p = "p < 0.0001" if found.p_value < 1e-4 else f"p = {found.p_value:.2g}"  # noqa: PLR2004
    return [
        (
            f"As deployed, the reference is right and the candidate wrong on {found.lost} real "
            f"rows, the reverse on {found.gained} (exact McNemar {p}, rows taken as independent)."
        )
    ]


def _moves(loss: Bounded) -> str:
    return f"{'loses' if loss.value >= 0 else 'gains'} {points(loss.value)}"


def _calls(swapped: SwappedStep) -> str:
    ours, theirs = swapped.reference_call, swapped.candidate_call
    if not ours or not theirs:
        return f"Only the {'reference' if ours else 'candidate'} has this step, `{ours or theirs}`"
    if ours == theirs:
        return f"Both sides call `{ours}`, with other arguments"
    return f"The reference calls `{ours}`, the candidate `{theirs}`"


def _caveats(cause: Cause, scene: Scene) -> list[str]:
    if cause.undecided:
        return [
            (
                f"Undecided: it may cost nothing, or more than {points(scene.margin)}; more "
                f"labelled real rows, from more groups, would tell."
            )
        ]
    if cause.undone:
        return ["The rest of the candidate makes up for it: the whole chain costs nothing."]
    if cause.masked and scene.shares.on_sim:
        return [
            (
                f"Real rows cannot show its cost, as the reference is right on "
                f"{percent(scene.shares.reference.value)} of them; on validation the candidate "
                f"loses {points(scene.shares.on_sim.value)} ({interval(scene.shares.on_sim)})."
            )
        ]
    return []


def _model_evidence(cause: Cause, scene: Scene) -> list[str]:
    said = [
        (
            f"On the same tensors both models give the same label in "
            f"{percent(scene.agreement.value)} of real rows ({interval(scene.agreement)})."
        )
    ]
    if cause.explains:
        said.append(
            f"Exchanging the model alone, averaged over both sides' preprocessing, "
            f"{_moves(cause.explains)} ({interval(cause.explains)})."
        )
    said += [
        f"The candidate's model cannot take `{name}`: {why}"
        for name, why in scene.candidate.errors.items()
    ]
    return said + _deployed(cause, scene) + _caveats(cause, scene)


def _data_evidence(scene: Scene) -> list[str]:
    shares = scene.shares
    said = [
        (
            f"With nothing from the candidate, the reference is right on "
            f"{percent(shares.sim.value)} of validation rows "
            f"({counted(shares.sim.n, shares.sim.groups)}) and on "
            f"{percent(shares.reference.value)} of real rows ({interval(shares.reference)})."
        )
    ]
    if isinstance(scene.features, FeaturesReport):
        said.append(_feature_evidence(scene.features))
    if isinstance(scene.probe, ProbeReport) and scene.probe.points:
        said += _probe_evidence(scene.probe)
    return said


def _feature_evidence(features: FeaturesReport) -> str:
    rows = f"{features.num_sim} simulated and {features.num_real} real rows"
    if not features.can_tell:
        return (
            f"Whether a layer tells {rows} apart cannot be told: too few groups for any "
            f"Holm-adjusted p to reach {features.alpha:g}."
        )
    if features.begins_at is None:
        return f"No examined layer tells {rows} apart (Holm, alpha = {features.alpha:g})."
    layer = next(layer for layer in features.layers if layer.layer == features.begins_at)
    return (
        f"`{features.begins_at}` is the first layer that tells {rows} apart "
        f"(Holm-adjusted p = {layer.p_holm:.3g}, effect {layer.effect:.2f})."
    )


def _probe_evidence(probe: ProbeReport) -> list[str]:
    best = best_point(probe)
    verb = "Training" if best.kind == "scratch" else "Fine-tuning"
    said = [
        (
            f"{verb} {KINDS[best.kind]} on {best.labels} real labels reaches "
            f"{percent(best.accuracy.value)} ({interval(best.accuracy)}) on held-out real rows; "
            f"the unchanged model has {percent(probe.baseline.value)}."
        )
    ]
    if probe.pretraining != "undecided":
        fewest = min(point.labels for point in probe.points)
        said.append(
            f"Simulation pre-training {probe.pretraining}: with {fewest} labels fine-tuning ends "
            f"{points(probe.pretraining_effect.value)} "
            f"{'below' if probe.pretraining_effect.value < 0 else 'above'} training from scratch "
            f"({interval(probe.pretraining_effect, rows=False)} of the difference)."
        )
    return said


def _data_action(scene: Scene) -> str:
    broken = isinstance(scene.parity, ParityReport) and not scene.parity.passed
    if broken and isinstance(scene.probe, NotApplicable):
        return "Mend the deployment and examine again: a probe then tells what real labels buy."
    if not isinstance(scene.probe, ProbeReport) or not scene.probe.points:
        return "Keep the model out of service on these data until the cause is known."
    best = best_point(scene.probe)
    if best.accuracy.low <= scene.probe.baseline.high:
        return "Collect more real labels: those at hand did not help."
    gain = f"{percent(best.accuracy.value)} instead of {percent(scene.probe.baseline.value)}"
    if best.kind == "scratch":
        better = scene.probe.pretraining == "hurts"
        why = ", which does better here than fine-tuning" if better else ""
        return f"Train from scratch on {best.labels} real labels{why}: {gain}."
    return f"Fine-tune {KINDS[best.kind]} on {best.labels} real labels: {gain}."


def _nothing_broke(scene: Scene) -> str:
    shares = scene.shares
    if not scene.labelled:
        return (
            f"No fault was found between the sides: they agree on "
            f"{percent(shares.candidate.value)} of {shares.candidate.n} real rows. "
            f"Without labels nothing can be said about the data."
        )
    return (
        f"No fault was found: the candidate is right on {percent(shares.candidate.value)} of real "
        f"rows, {points(shares.gap.value)} {'below' if shares.gap.value >= 0 else 'above'} "
        f"validation ({interval(shares.gap)})."
    )
