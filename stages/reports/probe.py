"""What a few real labels buy."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from stages.stage import At, Estimate, NotApplicable, Report

PROBE = At("artifacts/probe/report.json")
CURVE = At("artifacts/probe/curve.csv")  # labels,kind,accuracy,low,high: for `dvc plots`

Kind = Literal["last_layer", "whole_model", "scratch"]
KINDS: Mapping[Kind, str] = {  # what is fitted, in words
    "last_layer": "the last layer",
    "whole_model": "all layers",
    "scratch": "from scratch",
}


class ProbePoint(Report):
    """One kind of fine-tune on so many labels, over resamples of them and over held-out rows."""

    kind: Kind
    labels: int
    accuracy: Estimate  # the interval is over resamples and over held-out rows, of which n counts
    resamples: int


class ProbeReport(Report):
    """The few-shot curve on real rows that were not fitted."""

    baseline: Estimate  # the unchanged model on the same held-out rows
    points: list[ProbePoint]
    pretraining: Literal[
        "helps", "hurts", "undecided"
    ]  # whole_model against scratch, paired by resample
    pretraining_effect: Estimate  # whole_model minus scratch at the fewest labels
    learning_rates: dict[str, float] = Field(default={})  # kind -> chosen among the drawn labels


ProbeAnswer = ProbeReport | NotApplicable
