"""How good and how sure is each side, on simulation and on real rows, group by group?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stages.reports.evaluate import (
    EVALUATE,
    PREDICTED,
    RELIABILITY,
    SWEEP,
    EvaluateReport,
)
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.split import ROLES
from stages.stage import FromCase, MetricName, Needs, Params, Stage


class EvaluateParams(Params):
    """What is measured, and how finely."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"
    bins: int = Field(default=10, ge=2)  # of the reliability diagram, of equal mass
    resamples: int = Field(default=2000, ge=1)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Labels and groups, and what each side answered."""

    roles: Annotated[Path, ROLES]
    reference: Annotated[PredictReport, PREDICT.of("reference")]
    candidate: Annotated[PredictReport, PREDICT.of("candidate")]
    last_good: Annotated[PredictReport | None, PREDICT.of("last_good")]
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    last_good_outputs: Annotated[Path | None, OUTPUTS.of("last_good")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Figures for programs, and what the charts are drawn from."""

    report: Annotated[EvaluateReport, EVALUATE]
    reliability: Annotated[str, RELIABILITY]
    sweep: Annotated[str, SWEEP]
    predicted: Annotated[str, PREDICTED]


def run(params: EvaluateParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Evaluate each side where it answered; real rows of role prove are never looked at."""
    from stages.evaluation import Evaluation, Told

    told = [
        Told(report, folder)
        for report, folder in (
            (inputs.reference, inputs.reference_outputs),
            (inputs.candidate, inputs.candidate_outputs),
            (inputs.last_good, inputs.last_good_outputs),
        )
        if report is not None and folder is not None
    ]
    made = Evaluation(
        roles=inputs.roles,
        sides=told,
        metric=params.metric,
        unit=params.unit,
        private=params.pictures == "none",
        bins=params.bins,
        resamples=params.resamples,
        seed=params.seed,
    )
    report = made.report()
    bins = [
        f"{one.side},{one.where},{bin_.confidence:.6f},{bin_.accuracy:.6f},{bin_.n}"
        for one in report.evaluated
        if one.calibration
        for bin_ in one.calibration.bins
    ]
    kept = [
        f"{one.side},{one.where},{point.threshold:.6f},{point.coverage:.6f},{point.accuracy:.6f}"
        for one in report.evaluated
        for point in one.sweep
    ]
    return Outputs(
        report=report,
        reliability=_csv("side,where,confidence,accuracy,n", bins),
        sweep=_csv("side,where,threshold,coverage,accuracy", kept),
        predicted=_csv("side,where,true,predicted", made.predicted()),
    )


def _csv(header: str, lines: list[str]) -> str:
    return "\n".join([header, *lines]) + "\n"


STAGE = Stage(run, image="base", needs=Needs(memory="2GiB"))
