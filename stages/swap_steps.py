"""What does each of the candidate's differing steps make of the reference's values?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from stages.reports.data import REAL_SET, RECORDED
from stages.reports.preprocess import PREPROCESS, PreprocessReport
from stages.reports.split import ROLES
from stages.reports.swap import (
    SWAP_INPUTS,
    SWAP_INPUTS_VALUES,
    SWAP_MADE,
    SWAP_MADE_VALUES,
    SwapInputsAnswer,
    SwapMadeAnswer,
)
from stages.stage import FromCase, Needs, Params, SideStage, Step


class SwapStepsParams(Params):
    """Both sides' steps."""

    reference_steps: Annotated[list[Step], FromCase("reference.steps")]
    candidate_steps: Annotated[list[Step], FromCase("candidate.steps")]
    recorded: Annotated[str | None, FromCase("candidate.recorded")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The reference's values, raw samples where the first step is exchanged, what was logged."""

    roles: Annotated[Path, ROLES]
    real: Annotated[Path, REAL_SET]
    recorded: Annotated[Path, RECORDED]
    reference: Annotated[PreprocessReport, PREPROCESS.of("reference")]
    report: Annotated[SwapInputsAnswer, SWAP_INPUTS]
    values: Annotated[Path, SWAP_INPUTS_VALUES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """One value a real row for each exchanged step."""

    report: Annotated[SwapMadeAnswer, SWAP_MADE]
    values: Annotated[Path, SWAP_MADE_VALUES]


STAGE = SideStage(
    __name__, SwapStepsParams, Inputs, Outputs, needs=Needs(timeout_s=1800), sides=("candidate",)
)
