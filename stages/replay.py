"""Does the reference reach on validation what was reported, and is validation its own?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from stages.reports.data import SIM_SET, TRAIN_SET
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.replay import REPLAY, ReplayReport
from stages.reports.split import ROLES
from stages.reports.train import TRAIN, TrainReport
from stages.stage import FromCase, MetricName, Needs, Params, Stage

if TYPE_CHECKING:
    from stages.reports.replay import Leakage
    from stages.sample_doubles import Doubles


class ReplayParams(Params):
    """What was reported, and how closely rows are compared."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    reported: Annotated[float | None, FromCase("reported")] = None
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"
    margin: float = Field(default=0.02, ge=0)  # below what was reported, of the metric's range
    max_train: int = Field(default=4000, ge=1)  # rows whose likeness is compared: a seeded choice
    max_rows: int = Field(default=1000, ge=1)
    resamples: int = Field(default=2000, ge=1)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Training and validation as they came in, and what the reference answers to validation."""

    train: Annotated[Path, TRAIN_SET]
    sim: Annotated[Path, SIM_SET]
    roles: Annotated[Path, ROLES]
    trained: Annotated[TrainReport, TRAIN]
    predicted: Annotated[PredictReport, PREDICT.of("reference")]
    outputs: Annotated[Path, OUTPUTS.of("reference")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The replay."""

    report: Annotated[ReplayReport, REPLAY]


def run(params: ReplayParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Measure validation, compare it with what was reported; look for rows of training in it."""
    from stages.replayed import Replayed, reported

    replayed = Replayed(inputs, params)
    doubles, why_not = _doubles(params, inputs)
    leakage = replayed.leakage(doubles, why_not)
    figure, by, why_none = reported(params.reported, inputs.trained.metrics, params.metric)
    return Outputs(
        report=ReplayReport(
            suspects=[*replayed.missed(figure, by), *replayed.leaks(leakage, doubles)],
            reported=figure,
            reported_by=by,
            why_not_reported=why_none,
            measured=leakage.all_rows,
            reached=None if figure is None else not replayed.missed(figure, by),
            leakage=_private(leakage) if params.pictures == "none" else leakage,
        )
    )


def _doubles(params: ReplayParams, inputs: Inputs) -> "tuple[Doubles | None, str | None]":
    from stages.dataset import MANIFEST, read_manifest, read_roles
    from stages.sample_doubles import Set, compare

    if not (inputs.train / MANIFEST).exists():
        return None, "No training samples are stated: data.train."
    train = read_manifest(inputs.train)
    roles = read_roles(inputs.roles)
    sim = roles.loc[roles["dataset"] == "sim"]
    if train.empty or sim.empty:
        return None, "There are no training samples." if train.empty else "No row validates."
    sets = Set(inputs.train, train), Set(inputs.sim, sim)
    return compare(
        *sets, max_train=params.max_train, max_rows=params.max_rows, seed=params.seed
    ), None


def _private(leakage: "Leakage") -> "Leakage":
    return leakage.model_copy(update={"rows": []})


STAGE = Stage(run, image="base", needs=Needs(memory="2GiB"), holds_samples=True)
