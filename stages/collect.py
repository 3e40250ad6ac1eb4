"""What are each side's environment, weights, model and steps?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from stages.reports.collect import COLLECT, CollectReport
from stages.reports.train import MODEL
from stages.stage import CasePath, FromCase, Model, Needs, Params, SideStage, Step


class CollectParams(Params):
    """What the case says of the side."""

    image: Annotated[str, FromCase("{side}.image")]
    steps: Annotated[list[Step], FromCase("{side}.steps")] = []  # noqa: RUF012  pydantic copies it
    model: Annotated[Model | None, FromCase("{side}.model")] = None
    postprocess: Annotated[str | None, FromCase("{side}.postprocess")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Weights, or a recording."""

    model: Annotated[Path, MODEL]
    weights: Annotated[Path | None, CasePath("{side}.weights")]  # these instead, where given
    recorded: Annotated[Path | None, CasePath("{side}.recorded")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The facts."""

    report: Annotated[CollectReport, COLLECT]


STAGE = SideStage(
    __name__,
    CollectParams,
    Inputs,
    Outputs,
    needs=Needs(memory="4GiB", timeout_s=600),
    holds_samples=False,
)
