"""How each side does on simulation and on real rows, by group, by class, by confidence."""

from typing import Literal

from pydantic import Field

from stages.stage import At, Estimate, MetricName, Plot, Report

EVALUATE = At("artifacts/evaluate/report.json")
RELIABILITY = At(  # side,where,confidence,accuracy,n
    "artifacts/evaluate/reliability.csv",
    plot=Plot("reliability", "confidence", "accuracy", "accuracy of the bin", "scatter"),
)
SWEEP = At(  # side,where,threshold,coverage,accuracy
    "artifacts/evaluate/sweep.csv",
    plot=Plot("coverage", "coverage", "accuracy", "accuracy of what is answered", "scatter"),
)
PREDICTED = At("artifacts/evaluate/predicted.csv")
"""side,where,true,predicted: at most 300 rows of each; regression only, and no line with
`pictures: none`."""

Where = Literal["sim", "real"]


class Part(Report):
    """The metric on the rows of one group or class."""

    name: str
    metric: Estimate


class ReliabilityBin(Report):
    """Rows of like confidence."""

    confidence: float
    accuracy: float
    low: float
    high: float
    n: int


class CalibrationReport(Report):
    """Whether confidence says how often the answer is right."""

    taken_as: str  # how the outputs were read: probabilities, softmax of the outputs, ...
    bins: list[ReliabilityBin]
    error: Estimate  # expected calibration error; noise alone makes it larger than 0
    debiased: float  # the same less what noise adds
    over: float  # mean confidence less accuracy: positive is overconfident
    brier: Estimate


class SweepPoint(Report):
    """What is left when rows below a confidence are not answered."""

    threshold: float
    coverage: float
    accuracy: float


class OperatingPointReport(Report):
    """A threshold on the second of two classes."""

    threshold: float
    precision: float
    recall: float


class GroupResiduals(Report):
    """One group's misses, in the unit of the target."""

    group: str
    bias: float
    spread: float
    mae: float
    n: int


class ResidualsReport(Report):
    """Prediction minus truth, in the unit of the target."""

    mae: Estimate
    rmse: Estimate
    r2: Estimate | None  # None where all true values are one
    bias: Estimate
    slope: Estimate | None  # of truth over prediction: 1 is calibrated
    intercept: float | None
    groups: list[GroupResiduals]  # the worst first


class Evaluated(Report):
    """One side on the labelled rows of one dataset; on real ones without those that prove."""

    side: str
    where: Where
    n: int
    metric: Estimate | None
    why_not: str | None  # no metric: no labels, or no answers
    groups: list[Part]  # the worst first
    classes: list[Part]
    confusion: list[list[int]] | None  # truth by answer; None where classes are too many to show
    calibration: CalibrationReport | None
    why_no_calibration: str | None
    sweep: list[SweepPoint]
    operating: list[OperatingPointReport]  # of two classes
    residuals: ResidualsReport | None


class Unlabelled(Report):
    """What real rows say without any label."""

    side: str
    n: int
    agreement: Estimate | None = None  # with the reference's answers; None for its own
    confidence_sim: float | None = None
    confidence_real: Estimate | None = None
    expected: Estimate | None = None  # accuracy, guessed from confidence: it rests on `assumes`
    assumes: str
    histogram_sim: list[float] = Field(default=[])  # shares of rows by confidence,
    histogram_real: list[float] = Field(default=[])  # in bins of equal width over [0, 1]


class EvaluateReport(Report):
    """All situations."""

    metric: MetricName
    unit: str | None
    evaluated: list[Evaluated]
    unlabelled: list[Unlabelled]
