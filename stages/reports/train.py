"""The model under examination."""

from typing import Literal

from stages.stage import At, Report

MODEL = At("artifacts/train/model")
TRAIN = At("artifacts/train/report.json")


class TrainReport(Report):
    """Where the weights come from."""

    origin: Literal["trained", "given"]
    files: dict[str, str]  # file name -> sha256
    metrics: dict[str, float]  # what the case's own training function returned
