"""What does each differing step do on its own, all others kept as in the reference?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from stages.reports.data import REAL_SET
from stages.reports.preprocess import PREPROCESS, PreprocessReport
from stages.reports.split import ROLES
from stages.reports.swap import SWAP, SWAP_STEPS, SWAP_TENSORS, SwapAnswer
from stages.stage import FromCase, Needs, Params, SideStage, Step


class SwapParams(Params):
    """Both sides' steps."""

    reference_steps: Annotated[list[Step], FromCase("reference.steps")]
    candidate_steps: Annotated[list[Step], FromCase("candidate.steps")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Raw real samples, their order, and which of them are paired."""

    roles: Annotated[Path, ROLES]
    real: Annotated[Path, REAL_SET]
    reference: Annotated[PreprocessReport, PREPROCESS.of("reference")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """One set of tensors and one pair of outputs for each exchanged step."""

    report: Annotated[SwapAnswer, SWAP]
    tensors: Annotated[Path, SWAP_TENSORS]
    steps: Annotated[Path, SWAP_STEPS]


STAGE = SideStage(
    __name__, SwapParams, Inputs, Outputs, needs=Needs(timeout_s=1800), sides=("reference",)
)
