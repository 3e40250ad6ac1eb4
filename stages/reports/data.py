"""The samples under examination."""

from pydantic import Field

from stages.stage import At, Report

DATA = At("artifacts/data/report.json")
TRAIN_SET = At("artifacts/data/train")
SIM_SET = At("artifacts/data/sim")
REAL_SET = At("artifacts/data/real")
RECORDED = At("artifacts/data/recorded")
"""`<side>/` for each recorded side: `ids.json` (a list, the order of all arrays), `input.npy` (what
the model got), `step_<name>.npy`, `outputs.npy`, `labels.npy`, each only where it was logged.
`sides.json` lists the recorded sides and what each holds: it may be none, and DVC keeps no empty
folder."""


class DatasetSummary(Report):
    """One folder: manifest.csv (id, row or path, label, group, free columns) and its samples."""

    rows: int
    labelled: int
    groups: int
    source: str  # module:function that made it, or the folder that it came from


class RecordedSummary(Report):
    """What production logged of one side."""

    rows: int
    arrays: list[str]  # input, step_<name>, outputs, labels
    num_left_out: int  # ids that only the tensors or only the predictions hold
    num_nonfinite_rows: dict[str, int]  # array -> rows with NaN or infinity; none where zero


class DataReport(Report):
    """What was taken in."""

    datasets: dict[str, DatasetSummary]  # train (may be missing), sim, real
    recorded: dict[str, RecordedSummary] = Field(
        default_factory=dict
    )  # side -> what was logged of it
