"""What speaks for a cause: sentences with figures, the strongest first."""

from assay.causes import OF_VALIDATION, Cause
from assay.intervals import rule_of_three
from stages.answers import why_unknown
from stages.figures import counted, interval, percent
from stages.reports.features import FeaturesReport
from stages.reports.probe import KINDS, ProbeReport
from stages.reports.swap import SwappedStep
from stages.scene import Scene


def evidence(cause: Cause, scene: Scene) -> list[str]:
    """Say what speaks for a cause."""
    if cause.component == "preprocessing":
        return _step_evidence(cause, scene)
    suspect = scene.suspect(cause)
    named = suspect.evidence if suspect is not None else []
    if cause.kind in OF_VALIDATION:
        return named
    if cause.component == "data":
        return [*named, *_data_evidence(scene)]
    return [*named, *_model_evidence(cause, scene)]


def _step_evidence(cause: Cause, scene: Scene) -> list[str]:
    said = []
    own, swapped, loss = scene.own_difference(cause), scene.swapped(cause), cause.explains
    alone, metric = scene.shares.steps.get(cause.key or ""), scene.metric
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
        bound = rule_of_three(alone.n)
        still = alone.value == 0 and alone.high in (0, bound)
        most = f" (at most 3 / n: {metric.loss(bound)})" if metric.is_share else ""
        turned = f"changes nothing{most}" if still else metric.moves(alone.value)
        said.append(
            f"The reference with only this step from the candidate {turned} on real rows "
            f"({metric.change(alone)})."
        )
    elif loss:
        said.append(
            f"All of the candidate's preprocessing together {metric.moves(loss.value)} "
            f"({metric.change(loss)}); this step could not be exchanged alone."
        )
    if swapped and swapped.error:
        said.append(f"The candidate's step cannot take the reference's input: {swapped.error}")
    if swapped:
        said.append(f"{_calls(swapped)}.")
    return said + _caveats(cause, scene)


def _calls(swapped: SwappedStep) -> str:
    ours, theirs = swapped.reference_call, swapped.candidate_call
    if not ours or not theirs:
        return f"Only the {'reference' if ours else 'candidate'} has this step, `{ours or theirs}`"
    if ours == theirs:
        return f"Both sides call `{ours}`, with other arguments"
    return f"The reference calls `{ours}`, the candidate `{theirs}`"


def changes(cause: Cause) -> str:
    """Say how many answers a part changes alone: no labels are needed for it."""
    found = cause.changes
    if found is None or (cause.explains is not None and cause.explains.low > 0):
        return ""
    return (
        f"By agreement with the reference on {found.n} real rows, labelled or not (all but those "
        f"that prove): it alone changes {percent(found.value)} of the answers "
        f"({interval(found, rows=False)})."
    )


def together(scene: Scene) -> str:
    """Say what the candidate loses on validation, where it is known and seen."""
    found, metric = scene.shares.on_sim, scene.metric
    if found is None or found.low <= 0:
        return ""
    lost = f"{metric.moves(found.value)} ({metric.change(found)})"
    return f"On validation all of the candidate together {lost}."


def _caveats(cause: Cause, scene: Scene) -> list[str]:
    said = [changes(cause)]
    if cause.undecided:
        said.append(together(scene))
    return [*filter(None, said), *_doubts(cause, scene)]


def _doubts(cause: Cause, scene: Scene) -> list[str]:
    metric, shares = scene.metric, scene.shares
    if cause.undecided:
        return [
            (
                f"Undecided: it may cost nothing, or more than {metric.loss(scene.margin)}; more "
                f"labelled real rows, from more groups, would tell."
            )
        ]
    if cause.undone:
        return ["The rest of the candidate makes up for it: the whole chain costs nothing."]
    if cause.masked and shares.on_sim:
        return [
            (
                f"{shares.reference.n} real rows do not show its cost{_floor(scene)}; "
                f"{together(scene)[0].lower()}{together(scene)[1:]}"
            )
        ]
    return []


def _floor(scene: Scene) -> str:
    """Say that the reference fails on real rows already, where it does."""
    metric, data = scene.metric, scene.shares.data
    if data is None or data.low <= 0:
        return ""
    stands = metric.stands(metric.shown(scene.shares.reference).value)
    return f", as the reference itself only {stands} them"


def _model_evidence(cause: Cause, scene: Scene) -> list[str]:
    said, metric = [], scene.metric
    if scene.agreement is not None:
        near = f" (within {scene.within:.3g})" if scene.within else ""
        what = "the same label" if scene.own.is_share else "the same answer"
        said.append(
            f"On the same tensors both models give {what}{near} to "
            f"{percent(scene.agreement.value)} of real rows ({interval(scene.agreement)})."
        )
    if cause.explains:
        loss, found = cause.explains.value, metric.change(cause.explains)
        cost = f"{'costs' if loss >= 0 else 'gains'} {metric.loss(loss)} ({found})."
        part = "postprocessing" if scene.is_rule(cause) else "model"
        exchanged = {
            "three factors": f"Exchanging the {part} alone, averaged over all beside it,",
            "shapley": "Exchanging the model alone, averaged over both sides' preprocessing,",
            "in order": "Exchanging the model alone, after the preprocessing,",
        }
        whole = "Exchanging preprocessing and model together"
        bare = "With all else from the reference (its own share of the gap hides it) the model"
        how = bare if cause.alone else exchanged.get(scene.shares.attribution, whole)
        said.append(f"{how} {cost}")
    said += [
        f"The candidate's model cannot take `{name}`: {why}"
        for name, why in scene.candidate.errors.items()
        if why_unknown(scene.candidate, name) is None
    ]
    return said + _caveats(cause, scene)


def _data_evidence(scene: Scene) -> list[str]:
    metric, sim = scene.metric, scene.sim
    reference = metric.shown(scene.shares.reference)
    said = []
    if sim is not None:
        said.append(
            f"With nothing from the candidate, the reference "
            f"{metric.stands(metric.shown(sim).value)} validation rows "
            f"({counted(sim.n, sim.groups)}) and {_short(scene, reference.value)} real rows "
            f"({metric.interval(reference)})."
        )
    if scene.deviations is not None:
        before, after = scene.deviations
        said.append(
            f"R² judges errors by the targets' own spread: their standard deviation is "
            f"{before:.3g} on validation and {after:.3g} on real rows."
        )
    if isinstance(scene.features, FeaturesReport):
        said.append(_feature_evidence(scene.features))
    if isinstance(scene.probe, ProbeReport) and scene.probe.points:
        said += _probe_evidence(scene.probe, scene)
    return said


def _short(scene: Scene, level: float) -> str:
    """Say the second of two levels without repeating what it is of."""
    text = scene.metric.level(level)
    return {"accuracy": f"on {text} of", "r2": f"of {text} on", "mae": f"by {text} on"}.get(
        scene.metric.name, f"on {text} of"
    )


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


def _probe_evidence(probe: ProbeReport, scene: Scene) -> list[str]:
    best, metric = probe.best, scene.own
    verb = "Training" if best.kind == "scratch" else "Fine-tuning"
    said = [
        (
            f"{verb} {KINDS[best.kind]} on {best.labels} real labels reaches "
            f"{metric.level(best.level.value)} ({metric.interval(best.level)}) on held-out real "
            f"rows; the unchanged model has {metric.level(probe.baseline.value)}."
        )
    ]
    effect = probe.pretraining_effect
    if probe.pretraining != "undecided":
        fewest = min(point.labels for point in probe.points)
        said.append(
            f"Simulation pre-training {probe.pretraining}: with {fewest} labels fine-tuning ends "
            f"{metric.loss(effect.value)} "
            f"{'behind' if effect.value < 0 else 'ahead of'} training from scratch "
            f"({metric.interval(effect, rows=False)} of the difference)."
        )
    return said
