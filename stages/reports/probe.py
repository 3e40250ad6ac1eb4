"""What a few real labels buy."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from stages.stage import At, Estimate, MetricName, NotApplicable, Plot, Report

PROBE = At("artifacts/probe/report.json")
CURVE = At(  # labels,kind,level,low,high
    "artifacts/probe/curve.csv",
    plot=Plot("few-shot", "labels", "level", "metric on held-out real rows", "scatter"),
)

Kind = Literal[
    "bias",
    "temperature",
    "last_layer",
    "bn_statistics",
    "first_block",
    "lp_ft",
    "whole_model",
    "scratch",
]
KINDS: Mapping[Kind, str] = {  # what is fitted, in words
    "bias": "a bias of the outputs",
    "temperature": "a temperature",
    "last_layer": "the last layer",
    "bn_statistics": "batch statistics",
    "first_block": "the first block",
    "lp_ft": "last layer, then all",
    "whole_model": "all layers",
    "scratch": "from scratch",
}
CURVES: tuple[Kind, ...] = ("last_layer", "whole_model", "scratch")
"""The kinds whose points stand in `points`; all kinds stand in `ladder`."""


class ProbePoint(Report):
    """One kind of fine-tune on so many labels, over resamples of them and over held-out rows."""

    kind: Kind
    labels: int
    level: Estimate  # the interval is over resamples and over held-out rows, of which n counts
    resamples: int


Says = Literal["labels help", "the probe helps anyway", "hurts", "undecided"]


class Rung(Report):
    """One kind on so many labels, beside the same kind on equally many labels of simulation.

    What the labels themselves buy is the difference: a probe that helps as much with labels of
    simulation would help without any real one.
    """

    kind: Kind
    labels: int
    resamples: int
    real: Estimate  # the metric on held-out real rows, fitted to real labels
    sim: Estimate | None  # the same rows, fitted to labels of simulation; None: sim has too few
    gain: Estimate  # over the unchanged model, paired by row; positive is better
    labels_gain: Estimate | None  # real over sim, paired by resample and row; positive is better
    says: Says


class ProbeReport(Report):
    """The few-shot curve on real rows that were not fitted."""

    metric: MetricName = "accuracy"
    unit: str | None = None
    baseline: Estimate  # the unchanged model on the same held-out rows
    points: list[ProbePoint]
    pretraining: Literal[
        "helps", "hurts", "undecided"
    ]  # whole_model against scratch, paired by resample
    pretraining_effect: Estimate  # what whole_model has over scratch at the fewest labels
    learning_rates: dict[str, float] = Field(default={})  # kind -> chosen among the drawn labels
    ladder: list[Rung] = Field(default=[])
    not_probed: dict[str, str] = Field(default={})  # kind -> why it is not on the ladder

    def gains(self, point: ProbePoint) -> bool:
        """Tell whether a fine-tune is shown to be better than the unchanged model."""
        if self.metric == "mae":
            return point.level.high < self.baseline.low
        return point.level.low > self.baseline.high

    @property
    def learns(self) -> bool:
        """Whether any is."""
        return any(self.gains(point) for point in self.points)

    @property
    def best(self) -> ProbePoint:
        """What to do with labels: from scratch if pre-training hurts, else the surest gain."""
        most = max(point.labels for point in self.points)
        at_most = [point for point in self.points if point.labels == most]
        scratch = [point for point in at_most if point.kind == "scratch"]
        if self.pretraining == "hurts" and scratch:
            return scratch[0]
        if self.metric == "mae":
            return min(at_most, key=lambda point: point.level.high)
        return max(at_most, key=lambda point: point.level.low)


ProbeAnswer = ProbeReport | NotApplicable
