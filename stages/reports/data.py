"""The samples under examination."""

from stages.stage import At, Report

DATA = At("artifacts/data/report.json")
TRAIN_SET = At("artifacts/data/train")
SIM_SET = At("artifacts/data/sim")
REAL_SET = At("artifacts/data/real")


class DatasetSummary(Report):
    """One folder: manifest.csv (id, row or path, label, group, free columns) and its samples."""

    rows: int
    labelled: int
    groups: int
    source: str  # module:function that made it, or the folder that it came from


class DataReport(Report):
    """What was taken in."""

    datasets: dict[str, DatasetSummary]  # train (may be missing), sim, real
