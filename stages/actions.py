"""What restores service now, for each cause and in which order."""

from assay.causes import Cause
from stages.reports.parity import ParityReport
from stages.reports.probe import KINDS, ProbeReport
from stages.scene import Scene
from stages.stage import NotApplicable


def action(cause: Cause, scene: Scene) -> str:
    """Say what restores service now."""
    if cause.harmless:
        return "Leave it, or align it when convenient: it does not explain the gap."
    suspect = scene.suspect(cause)
    if suspect is not None and suspect.action:
        return f"{suspect.action[0].upper()}{suspect.action[1:].rstrip('.')}."
    if cause.component == "data":
        return _data_action(scene)
    if cause.component == "preprocessing":
        return _step_action(cause, scene)
    return {
        "model": "Serve the reference's weights and runtime, then examine again.",
        "postprocessing": "Serve the reference's label map and thresholds, then examine again.",
        "deployment": "Serve the reference as a whole; log what the candidate's model is given.",
    }[cause.component]


def _step_action(cause: Cause, scene: Scene) -> str:
    swapped = scene.swapped(cause)
    if swapped is None:
        return "Serve the reference's preprocessing in front of the candidate's model."
    if not swapped.reference_call:
        return f"Leave out the candidate's step `{cause.step}`, then examine again."
    call = f" (`{swapped.reference_call}`)"
    return f"Give the candidate the reference's step `{cause.step}`{call}, then examine again."


def mend_first(causes: tuple[Cause, ...], scene: Scene) -> list[str]:
    """List what to do in its order: the deployment before the data, the undecided last."""
    guilty = sorted(
        (cause for cause in causes if not cause.harmless),
        key=lambda cause: (cause.undecided, is_data(cause)),
    )
    back = [roll_back(scene)] if can_roll_back(scene) else []
    return list(dict.fromkeys([*back, *(action(cause, scene) for cause in guilty)]))


def can_roll_back(scene: Scene) -> bool:
    """Tell whether what worked before is shown to be better on the same rows."""
    return scene.shares.since is not None and scene.shares.since.low > 0


def roll_back(scene: Scene) -> str:
    """Say what rolling back brings, at once."""
    since, before = scene.shares.since, scene.shares.last_good
    assert since is not None  # noqa: S101  asked by `can_roll_back`
    assert before is not None  # noqa: S101
    metric = scene.metric
    stands = metric.stands(metric.shown(before).value)
    better = f"{metric.loss(since.value)} better ({metric.interval(since)})"
    return f"Roll back to what last worked: it {stands} the same rows, {better}."


def is_data(cause: Cause) -> bool:
    """Tell whether a cause lies in the data, not in the deployment."""
    return cause.component == "data"


def _data_action(scene: Scene) -> str:
    broken = isinstance(scene.parity, ParityReport) and not scene.parity.passed
    if broken and isinstance(scene.probe, NotApplicable):
        return "Mend the deployment and examine again: a probe then tells what real labels buy."
    if not isinstance(scene.probe, ProbeReport) or not scene.probe.points:
        return "Keep the model out of service on these data until the cause is known."
    best = scene.probe.best
    if not scene.probe.gains(best):
        return "Collect more real labels: those at hand did not help."
    levels = (best.level.value, scene.probe.baseline.value)
    gain = " instead of ".join(scene.own.level(level) for level in levels)
    if best.kind == "scratch":
        better = scene.probe.pretraining == "hurts"
        why = ", which does better here than fine-tuning" if better else ""
        return f"Train from scratch on {best.labels} real labels{why}: {gain}."
    return f"Fine-tune {KINDS[best.kind]} on {best.labels} real labels: {gain}."
