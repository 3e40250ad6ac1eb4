"""May the candidate serve?"""

from typing import Literal

from stages.stage import At, MetricName, Report, Share

GATE = At("artifacts/gate/report.json")
METRICS = At("artifacts/gate/metrics.json")  # flat figures: for `dvc metrics`


class Criterion(Report):
    """One condition with its figure."""

    name: str  # contract, parity, the metric's name, drop, agreement; where they apply not_worse,
    # simulation, calibration, groups
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


class Look(Report):
    """Which look at these held-out rows this is, and what of the error it may spend.

    Whoever looks often at the same rows finds a lucky candidate: the k-th of several different
    candidates is held to wider intervals, see `assay.spending`.
    """

    number: int | None  # None: nobody keeps count; one look is taken for all
    alpha: Share  # spent on this look; the gate's intervals have the level 1 - alpha
    total: Share  # of all looks together
    rows: str  # sha256 of the held-out rows
    answers: str  # sha256 of what the candidate answered to them; "": nobody knows


class GateReport(Report):
    """Open when all criteria pass, closed when one fails, else abstained."""

    verdict: Literal["open", "closed", "abstained"]
    metric: MetricName = "accuracy"  # of the criteria that bear its name or `drop`
    unit: str | None = None
    criteria: list[Criterion]
    because: str = ""  # the criteria that keep it from opening, in few words
    look: Look | None = None
