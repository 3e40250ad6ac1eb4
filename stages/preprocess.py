"""What does each side's own preprocessing make of the same raw samples?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stages.reports.data import REAL_SET, RECORDED, SIM_SET
from stages.reports.preprocess import (
    PREPROCESS,
    STEPS,
    TENSORS_REAL,
    TENSORS_SIM,
    PreprocessReport,
)
from stages.reports.split import ROLES
from stages.stage import FromCase, Needs, Params, SideStage, Step


class PreprocessParams(Params):
    """The side's steps, and how many samples are kept step by step."""

    steps: Annotated[list[Step], FromCase("{side}.steps")]
    recorded: Annotated[str | None, FromCase("{side}.recorded")] = None
    paired: int = Field(default=32, ge=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Raw samples, and the order of their tensors."""

    roles: Annotated[Path, ROLES]
    sim: Annotated[Path, SIM_SET]
    real: Annotated[Path, REAL_SET]
    recorded: Annotated[Path, RECORDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Tensors as the model gets them, and the way there for the paired rows."""

    report: Annotated[PreprocessReport, PREPROCESS]
    sim: Annotated[Path, TENSORS_SIM]
    real: Annotated[Path, TENSORS_REAL]
    steps: Annotated[Path, STEPS]


STAGE = SideStage(__name__, PreprocessParams, Inputs, Outputs, needs=Needs(timeout_s=1800))
