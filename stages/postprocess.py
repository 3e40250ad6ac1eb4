"""What does each side's postprocessing make of the other side's raw outputs?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from stages.reports.postprocess import POSTPROCESS, POSTPROCESSED, PostprocessReport
from stages.reports.predict import OUTPUTS
from stages.stage import FromCase, Needs, Params, SideStage


class PostprocessParams(Params):
    """The side's own rule."""

    postprocess: Annotated[str | None, FromCase("{side}.postprocess")] = None
    task: Annotated[Literal["classification", "regression"], FromCase("task")] = "classification"
    recorded: Annotated[str | None, FromCase("{side}.recorded")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What both models answered; a side reads the other one's."""

    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Labels by the rule of one side, of the outputs of the other."""

    report: Annotated[PostprocessReport, POSTPROCESS]
    labels: Annotated[Path, POSTPROCESSED]


STAGE = SideStage(
    __name__,
    PostprocessParams,
    Inputs,
    Outputs,
    needs=Needs(memory="2GiB", timeout_s=600),
    sides=("reference", "candidate"),
)
