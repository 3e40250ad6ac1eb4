"""May the candidate serve?"""

from typing import Literal

from stages.stage import At, Report

GATE = At("artifacts/gate/report.json")
METRICS = At("artifacts/gate/metrics.json")  # flat figures: for `dvc metrics`


class Criterion(Report):
    """One condition with its figure."""

    name: str
    says: str
    figure: float | None
    low: float | None
    high: float | None
    threshold: float
    n: int
    groups: int | None = None  # that the n rows came in; None: rows count one by one
    passed: bool | None  # None: too little data to tell
    why: str


class GateReport(Report):
    """Open when all criteria pass, closed when one fails, else abstained."""

    verdict: Literal["open", "closed", "abstained"]
    criteria: list[Criterion]
