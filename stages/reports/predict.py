"""What a side's model says about both sides' tensors."""

from pydantic import Field

from stages.stage import At, Report

PREDICT = At("artifacts/predict-{side}/report.json")
OUTPUTS = At("artifacts/predict-{side}/outputs")
"""`<set>.npy` (rows, classes) float32, the model's raw output, and `<set>.labels.npy` (rows,) int64
after postprocessing. Sets: `sim`, `real-reference`, `real-candidate` (whose preprocessing made the
tensors), and on the reference side `swap-<key>` for each exchanged step."""


class PredictReport(Report):
    """One side's predictions."""

    side: str
    model: str
    sets: dict[str, int]  # set -> rows
    errors: dict[str, str]  # set -> why the model could not take these tensors
    num_nonfinite_rows: dict[str, int] = Field(default_factory=dict)  # set -> rows with NaN or inf
