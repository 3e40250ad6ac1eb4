"""What a side's preprocessing made of the samples."""

from stages.stage import At, Report

PREPROCESS = At("artifacts/preprocess-{side}/report.json")
TENSORS_SIM = At("artifacts/preprocess-{side}/sim.npy")  # (sim rows, ...) float32; recorded: 0 rows
TENSORS_REAL = At("artifacts/preprocess-{side}/real.npy")  # (real rows, ...) float32
STEPS = At("artifacts/preprocess-{side}/steps")
"""`00_decode.npy`, `01_scale.npy`, ...: each step's output for the paired rows: the first `paired`
real rows of role diagnose (filled up from unlabelled ones). `.npz` with one array a row, keyed by
its position, where shapes differ. `rows.json`: the paired rows' positions in the real tensors."""


class StepOutput(Report):
    """One step's output over the paired rows."""

    name: str
    call: str  # module:function, a command line, or "recorded"
    file: str
    dtype: str
    shape: list[int] | None  # of one sample; None where shapes differ


class PreprocessReport(Report):
    """One side's steps."""

    side: str
    steps: list[StepOutput]
    num_sim: int
    num_real: int
    paired: list[str]  # ids of the paired rows
    why_not: str | None = None  # a recorded side without tensors: nothing of it can be compared
