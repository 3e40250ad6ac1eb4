"""What does each side's model say about its own tensors, and about the other side's?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stages.reports.data import RECORDED
from stages.reports.predict import (
    INVARIANCE,
    LAYERS_READ,
    OUTPUTS,
    PREDICT,
    Invariance,
    PredictReport,
)
from stages.reports.preprocess import TENSORS_REAL, TENSORS_SIM
from stages.reports.split import ROLES
from stages.reports.swap import SWAP_TENSORS
from stages.reports.train import MODEL
from stages.stage import CasePath, FromCase, Model, Needs, Params, SideStage


class PredictParams(Params):
    """The side's model, and how it is asked."""

    model: Annotated[Model | None, FromCase("{side}.model")] = None  # None: it was recorded
    postprocess: Annotated[str | None, FromCase("{side}.postprocess")] = None
    task: Annotated[Literal["classification", "regression"], FromCase("task")] = "classification"
    layers: Annotated[list[str], FromCase("{side}.layers")] = []  # noqa: RUF012  pydantic copies it
    recorded: Annotated[str | None, FromCase("{side}.recorded")] = None
    batch: int = Field(default=256, ge=1)
    layer_rows: int = Field(default=500, ge=2)  # a set, a seeded subsample whose layers are read
    layer_seed: int = 0
    device: Literal["cpu", "auto"] = "cpu"  # a GPU's last bits are not a CPU's


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Weights, and tensors from either side's preprocessing."""

    model: Annotated[Path, MODEL]
    weights: Annotated[Path | None, CasePath("{side}.weights")]  # these instead, where given
    roles: Annotated[Path, ROLES]
    recorded: Annotated[Path, RECORDED]
    sim: Annotated[Path, TENSORS_SIM]
    real: Annotated[Path, TENSORS_REAL]
    real_reference: Annotated[Path, TENSORS_REAL.of("reference")]
    real_candidate: Annotated[Path, TENSORS_REAL.of("candidate")]
    swap: Annotated[Path, SWAP_TENSORS]  # read on the reference side only


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Raw outputs and labels of each set, what layers answered, and rows asked again."""

    report: Annotated[PredictReport, PREDICT]
    outputs: Annotated[Path, OUTPUTS]
    layers: Annotated[Path, LAYERS_READ]
    invariance: Annotated[Invariance, INVARIANCE]


STAGE = SideStage(
    __name__, PredictParams, Inputs, Outputs, needs=Needs(memory="4GiB", timeout_s=1800, gpu=True)
)
