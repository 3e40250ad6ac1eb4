"""What facts beside the metric say of a cause: environments, what changed since, raw samples."""

from assay.causes import Cause
from stages.reports.environments import Difference, EnvironmentsReport
from stages.reports.inputs import InputsReport, Statistic
from stages.reports.since import SinceReport
from stages.scene import Scene

MOST = 4  # facts in a sentence
OF_MODELS = ("package", "weights", "precision", "model")


def facts(cause: Cause, scene: Scene) -> list[str]:
    """Say what the facts add to a cause; nothing of them is a measurement of its cost."""
    if cause.component == "data":
        return _samples(scene)
    if cause.component == "preprocessing":
        return _since(cause, scene)
    return _models(scene)


def _since(cause: Cause, scene: Scene) -> list[str]:
    since = scene.since
    if not isinstance(since, SinceReport) or cause.step is None:
        return []
    step = f"step {cause.step}"
    if any(_is_about(said, step) for said in since.new):
        return [f"`{cause.step}` was changed since it last worked."]
    if any(_is_about(said, step) for said in since.old):
        return [f"`{cause.step}` was as it is now when it last worked: it is not the incident."]
    return []


def _is_about(said: str, step: str) -> bool:
    return said == step or said.startswith(f"{step},")


def _models(scene: Scene) -> list[str]:
    if not isinstance(scene.environments, EnvironmentsReport):
        return []
    [pair, *others] = scene.environments.pairs
    likely = [one for one in pair.differences if _changes_models(one)]
    said = []
    if likely:
        said.append(f"What differs beside it and may change numbers: {_told(likely)}.")
    elif not pair.not_compared:
        said.append("Weights, precision and the packages that compute are the same on both sides.")
    for other in others:
        changed = [one for one in other.differences if _changes_models(one)]
        said.append(
            f"Of that, changed since it last worked: {_told(changed)}."
            if changed
            else "None of that changed since it last worked."
        )
    return said


def _changes_models(one: Difference) -> bool:
    return one.weight == "numbers" and one.topic in OF_MODELS


def _told(differences: list[Difference]) -> str:
    told = [f"{one.what} ({one.left or 'none'} → {one.right or 'none'})" for one in differences]
    more = f" and {len(told) - MOST} more" if len(told) > MOST else ""
    return ", ".join(told[:MOST]) + more


def _samples(scene: Scene) -> list[str]:
    inputs = scene.inputs
    if not isinstance(inputs, InputsReport):
        return []
    total = len(inputs.statistics)
    if not inputs.can_tell:
        return [f"Whether raw samples differ in any of {total} figures cannot be told: few groups."]
    surely = [one for one in inputs.statistics if one.differs]
    if not surely:
        return [f"Raw samples surely differ in none of {total} figures."]
    named = ", ".join(_figure(one) for one in surely[:MOST])
    return [
        (
            f"Raw samples surely differ in {len(surely)} of {total} figures, most in {named}: a "
            f"difference, no proof that it costs anything."
        )
    ]


def _figure(one: Statistic) -> str:
    if one.mean_sim is None or one.mean_real is None:
        return one.name
    return f"{one.name} ({one.mean_sim:.3g} in simulation, {one.mean_real:.3g} in the field)"
