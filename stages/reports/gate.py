"""May the candidate serve?"""

from typing import Literal

from stages.stage import At, MetricName, Report

GATE = At("artifacts/gate/report.json")
METRICS = At("artifacts/gate/metrics.json")  # flat figures: for `dvc metrics`


class Criterion(Report):
    """One condition with its figure."""

    name: str  # contract, parity, the metric's name, drop, agreement
    says: str
    figure: float | None
    low: float | None
    high: float | None
    threshold: float | None  # None: the case states none
    bound: Literal["at least", "at most"] = "at most"  # that the threshold is
    n: int
    groups: int | None = None  # that the n rows came in; None: rows count one by one
    passed: bool | None  # None: too little data to tell
    why: str
    more: str = ""  # the labels that would decide; "": nothing is to be decided, or nobody knows
    limit: str = ""  # the threshold in words, where one number does not say it


class GateReport(Report):
    """Open when all criteria pass, closed when one fails, else abstained."""

    verdict: Literal["open", "closed", "abstained"]
    metric: MetricName = "accuracy"  # of the criteria that bear its name or `drop`
    unit: str | None = None
    criteria: list[Criterion]
    because: str = ""  # the criteria that keep it from opening, in few words
