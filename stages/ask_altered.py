"""What does the reference's model say about the altered tensors?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stages.reports.alter import ALTERED, ASK_ALTERED, ASKED, AskAlteredReport
from stages.reports.train import MODEL
from stages.stage import CasePath, FromCase, Model, Needs, Params, SideStage, Task


class AskAlteredParams(Params):
    """The reference's model, and how it is asked, as `predict` has it."""

    model: Annotated[Model | None, FromCase("{side}.model")] = None  # None: it was recorded
    postprocess: Annotated[str | None, FromCase("{side}.postprocess")] = None
    task: Annotated[Task, FromCase("task")] = "classification"
    batch: int = Field(default=256, ge=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Weights, and the altered tensors."""

    model: Annotated[Path, MODEL]
    weights: Annotated[Path | None, CasePath("{side}.weights")]  # these instead, where given
    tensors: Annotated[Path, ALTERED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Raw outputs and labels of each alteration."""

    report: Annotated[AskAlteredReport, ASK_ALTERED]
    outputs: Annotated[Path, ASKED]


STAGE = SideStage(
    __name__,
    AskAlteredParams,
    Inputs,
    Outputs,
    needs=Needs(memory="4GiB", timeout_s=1800),
    sides=("reference",),
)
