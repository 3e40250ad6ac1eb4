"""What does each differing step do on its own, all others kept as in the reference?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from stages.reports.data import REAL_SET
from stages.reports.preprocess import PREPROCESS, PreprocessReport
from stages.reports.split import ROLES
from stages.reports.swap import (
    SWAP,
    SWAP_INPUTS,
    SWAP_INPUTS_VALUES,
    SWAP_MADE,
    SWAP_MADE_VALUES,
    SWAP_STEPS,
    SWAP_TENSORS,
    SwapAnswer,
    SwapInputsAnswer,
    SwapMadeAnswer,
)
from stages.stage import FromCase, Needs, Params, SideStage, Step


class SwapParams(Params):
    """Both sides' steps."""

    reference_steps: Annotated[list[Step], FromCase("reference.steps")]
    candidate_steps: Annotated[list[Step], FromCase("candidate.steps")]
    recorded: Annotated[str | None, FromCase("candidate.recorded")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The order of the rows and which are paired; the reference's values, the candidate's."""

    roles: Annotated[Path, ROLES]
    real: Annotated[Path, REAL_SET]
    reference: Annotated[PreprocessReport, PREPROCESS.of("reference")]
    inputs_report: Annotated[SwapInputsAnswer, SWAP_INPUTS]
    inputs_values: Annotated[Path, SWAP_INPUTS_VALUES]
    steps_report: Annotated[SwapMadeAnswer, SWAP_MADE]
    steps_values: Annotated[Path, SWAP_MADE_VALUES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """One set of tensors and one pair of outputs for each exchanged step."""

    report: Annotated[SwapAnswer, SWAP]
    tensors: Annotated[Path, SWAP_TENSORS]
    steps: Annotated[Path, SWAP_STEPS]


STAGE = SideStage(
    __name__, SwapParams, Inputs, Outputs, needs=Needs(timeout_s=1800), sides=("reference",)
)
