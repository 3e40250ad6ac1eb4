"""Which steps are exchanged, and what does the reference have before and after each?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stages.reports.data import REAL_SET
from stages.reports.parity import ATOL, RTOL
from stages.reports.preprocess import PREPROCESS, STEPS, PreprocessReport
from stages.reports.split import ROLES
from stages.reports.swap import SWAP_INPUTS, SWAP_INPUTS_VALUES, SwapInputsAnswer
from stages.stage import FromCase, Needs, Params, SideStage, Step


class SwapInputsParams(Params):
    """Both sides' steps and images, and when two values count as equal (as `parity` has it)."""

    reference_steps: Annotated[list[Step], FromCase("reference.steps")]
    candidate_steps: Annotated[list[Step], FromCase("candidate.steps")]
    reference_image: Annotated[str, FromCase("reference.image")] = ""
    candidate_image: Annotated[str, FromCase("candidate.image")] = ""
    recorded: Annotated[str | None, FromCase("candidate.recorded")] = None
    atol: float = Field(default=ATOL, ge=0)
    rtol: float = Field(default=RTOL, ge=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Raw real samples, their order, and what both sides made of the paired ones."""

    roles: Annotated[Path, ROLES]
    real: Annotated[Path, REAL_SET]
    reference: Annotated[PreprocessReport, PREPROCESS.of("reference")]
    candidate: Annotated[PreprocessReport, PREPROCESS.of("candidate")]
    reference_steps: Annotated[Path, STEPS.of("reference")]
    candidate_steps: Annotated[Path, STEPS.of("candidate")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The slots, and the reference's values around each."""

    report: Annotated[SwapInputsAnswer, SWAP_INPUTS]
    values: Annotated[Path, SWAP_INPUTS_VALUES]


STAGE = SideStage(
    __name__, SwapInputsParams, Inputs, Outputs, needs=Needs(timeout_s=1800), sides=("reference",)
)
