"""Which property of the field's data costs the metric, and how much does undoing it regain?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from stages.reports.alter import (
    ALTER,
    ASK_ALTERED,
    ASKED,
    AlterAnswer,
    AlterReport,
    AskAlteredReport,
)
from stages.reports.features import FEATURES, FeaturesAnswer, FeaturesReport
from stages.reports.field import FIELD, FieldAnswer, FieldReport
from stages.reports.predict import LAYERS_READ, OUTPUTS
from stages.reports.preprocess import TENSORS_REAL, TENSORS_SIM
from stages.reports.split import ROLES
from stages.stage import FromCase, MetricName, Needs, Params, Stage

if TYPE_CHECKING:
    from stages.field_experiments import Experiments
    from stages.field_suspects import Labels


class FieldParams(Params):
    """When a regain counts."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    margin: float = Field(default=0.02, ge=0)  # a loss that nobody would miss, as `diagnose` has it
    alpha: float = Field(default=0.05, gt=0, lt=1)  # family-wise, over the alterations tried
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What was altered and answered, and what is compared without any alteration."""

    roles: Annotated[Path, ROLES]
    alter: Annotated[AlterAnswer, ALTER]
    asked: Annotated[AskAlteredReport, ASK_ALTERED]
    asked_outputs: Annotated[Path, ASKED]
    outputs: Annotated[Path, OUTPUTS.of("reference")]
    layers: Annotated[Path, LAYERS_READ.of("reference")]
    sim: Annotated[Path, TENSORS_SIM.of("reference")]
    real: Annotated[Path, TENSORS_REAL.of("reference")]
    features: Annotated[FeaturesAnswer, FEATURES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The suspects and every experiment."""

    report: Annotated[FieldAnswer, FIELD]


def run(params: FieldParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Weigh each alteration on the same rows; compare classes, labels and confusions."""
    from stages.field_experiments import Experiments
    from stages.metric import Metric

    if not isinstance(inputs.alter, AlterReport):
        return Outputs(report=inputs.alter)
    metric = Metric(params.metric, params.unit)
    found = Experiments(
        inputs.alter,
        inputs.roles,
        inputs.outputs,
        inputs.asked_outputs,
        metric=metric,
        seed=params.seed,
    )
    return Outputs(report=_report(params, inputs, inputs.alter, found))


def _report(
    params: FieldParams, inputs: Inputs, altered: AlterReport, found: "Experiments"
) -> FieldReport:
    from assay.criteria import drop
    from assay.scores import level, spread
    from stages.field_suspects import suspects
    from stages.figures import estimate

    bases = found.base["sim"], found.base["real"]
    levels = [
        level(params.metric, one.scores, one.rows.groups, num_draws=1000, seed=params.seed)
        for one in bases
    ]
    gap = drop(*levels)
    margin = params.margin * spread(params.metric, bases[0].rows.labels)
    explained = found.explained(gap.value, alpha=params.alpha, margin=margin)
    labels = _labels(params, inputs, found, max(margin, gap.value / 4))
    listed, remaining = suspects(
        found, explained, labels, gap, margin=margin, domains_part=_parted(inputs.features)
    )
    return FieldReport(
        metric=params.metric,
        unit=params.unit,
        sim=estimate(found.metric.shown(levels[0])),
        real=estimate(found.metric.shown(levels[1])),
        gap=estimate(gap),
        channels=altered.channels,
        experiments=found.listed(explained),
        num_tried=len(found.claims()),
        triage=found.triage(inputs.outputs),
        ablation=found.ablation(),
        lags=found.lags(),
        prior=labels.prior,
        noise=labels.noise,
        confusion=labels.confusion,
        remaining=estimate(remaining),
        suspects=listed,
        errors=inputs.asked.errors,
    )


def _labels(params: FieldParams, inputs: Inputs, found: "Experiments", least: float) -> "Labels":
    from stages.field_labels import Answers, confusions, noise, prior
    from stages.field_suspects import Labels
    from stages.field_targets import targets

    answers = Answers(
        roles=inputs.roles,
        outputs=inputs.outputs,
        layers=inputs.layers,
        sim_tensors=inputs.sim,
        real_tensors=inputs.real,
    )
    sim, real = found.base["sim"].rows, found.base["real"].rows
    if found.metric.task != "classification":
        suspect = targets(answers, found, least)
        return Labels(prior=None, noise=None, confusion=None, targets=suspect)
    return Labels(
        prior=prior(answers, sim, real, params.seed),
        noise=noise(answers, params.seed),
        confusion=confusions(answers, real),
    )


def _parted(features: FeaturesAnswer) -> str | None:
    """Say where in the network the domains part; None: nothing shows it."""
    if not isinstance(features, FeaturesReport) or features.begins_at is None:
        return None
    last = features.layers[-1]
    return (
        f"Simulation and real rows part from {features.begins_at} on; of the last layer a row is "
        f"told by its domain in {last.effect:.0%} of cases."
    )


STAGE = Stage(run, image="base", needs=Needs(memory="2GiB"))
