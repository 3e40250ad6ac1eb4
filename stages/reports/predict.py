"""What a side's model says about both sides' tensors."""

from pydantic import Field

from stages.stage import At, Report

PREDICT = At("artifacts/predict-{side}/report.json")
OUTPUTS = At("artifacts/predict-{side}/outputs")
"""`<set>.npy` (rows, outputs) float32, the model's raw output, and `<set>.labels.npy` (rows,) int64
after postprocessing (of a regression float64). Sets: `sim`, `real-reference`, `real-candidate`
(whose preprocessing made the tensors), and on the reference side `swap-<key>` for each exchanged
step; of last_good `sim` and `real-last_good`; of a recorded side its own real set alone."""

LAYERS_READ = At("artifacts/predict-{side}/layers")
"""What the model's named layers answered to its own tensors: `<layer>.sim.npy` and
`<layer>.real.npy` (rows, width) float32, pooled to a bounded width; `input.sim.npy` and
`input.real.npy` are the tensors themselves, flattened. `layers.json`: `layers` in forward order
(the input first), `files`: what stands for `<layer>` in the files' names (itself, where it can),
`sim` and `real`: positions of the rows in their tensors, `why_not`: null, or why nothing was
read. `shared`: what was read of the reference's tensors, the same on both sides:
`{rows, layers, files, operators, range, why_not}`: positions in `real-reference`, the layers in the
order in which they run (all named modules, where the runtime shows them), what stands for them in
`<file>.shared.npy`, what the runtime calls them, and of the unpooled values
`{layer: {max_abs, num_not_finite}}`."""

INVARIANCE = At("artifacts/predict-{side}/invariance.json")
"""The same paired rows asked once more, in other arrangements, against one batch of them all."""


class Asked(Report):
    """One arrangement: `twice`, `alone`, `halves`, `sorted` (a batch a class), `repeated`."""

    name: str
    largest: float | None  # difference of the raw outputs; None: see error, or not finite
    changed: float | None  # share of the labels that are others
    error: str | None = None


class Invariance(Report):
    """Whether an answer depends on what else is in the batch."""

    rows: int
    spread: float | None  # deviation of the raw outputs in one batch: what `largest` is measured by
    arrangements: list[Asked]
    training: list[str]  # modules in training mode as the model is asked: `bn1: BatchNorm2d`
    why_not: str | None = None  # nothing was asked


class PredictReport(Report):
    """One side's predictions."""

    side: str
    model: str
    sets: dict[str, int]  # set -> rows
    errors: dict[str, str]  # set -> why the model could not take these tensors: it answers wrong
    absent: dict[str, str] = Field(default_factory=dict)  # set -> why nobody knows its answers
    num_nonfinite_rows: dict[str, int] = Field(default_factory=dict)  # set -> rows with NaN or inf
    nonfinite_rows: dict[str, list[str]] = Field(default_factory=dict)  # set -> ids of the first
    no_outputs: dict[str, str] = Field(default_factory=dict)  # set -> why it has labels alone
