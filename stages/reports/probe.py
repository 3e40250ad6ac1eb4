"""What a few real labels buy."""

from typing import Literal

from pydantic import Field

from stages.stage import At, Estimate, NotApplicable, Report

PROBE = At("artifacts/probe/report.json")
CURVE = At("artifacts/probe/curve.csv")  # labels,kind,accuracy,low,high: for `dvc plots`

Kind = Literal["last_layer", "whole_model", "scratch"]


class ProbePoint(Report):
    """One kind of fine-tune on so many labels, over resamples of the labels."""

    kind: Kind
    labels: int
    accuracy: Estimate  # over resamples; n is the number of held-out rows
    resamples: int


class ProbeReport(Report):
    """The few-shot curve on real rows that were not fitted."""

    baseline: Estimate  # the unchanged model on the same held-out rows
    points: list[ProbePoint]
    pretraining: Literal[
        "helps", "hurts", "undecided"
    ]  # whole_model against scratch, paired by resample
    pretraining_effect: Estimate  # whole_model minus scratch at the fewest labels
    device: str
    learning_rates: dict[str, float] = Field(default={})  # kind -> chosen among the drawn labels


ProbeAnswer = ProbeReport | NotApplicable
