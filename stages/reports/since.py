"""What changed since it last worked."""

from stages.reports.environments import Difference
from stages.reports.parity import StepDifference
from stages.stage import At, Estimate, MetricName, NotApplicable, Report

SINCE = At("artifacts/since/report.json")


class SinceReport(Report):
    """What worked against what is deployed: declared, computed, and in the metric."""

    changes: list[Difference]  # what worked (left), what is deployed (right)
    not_compared: list[str]
    chain: list[StepDifference]  # both sides' outputs on the same raw samples
    first_differing_step: str | None
    why_no_chain: str | None
    metric: MetricName
    before: Estimate | None  # on the same labelled real rows, without those that prove
    after: Estimate | None
    loss: Estimate | None  # paired by row; positive: worse since
    agreement: Estimate | None  # share of real rows with the same answer
    why_no_metric: str | None
    old: list[
        str
    ]  # differences from the reference that were there when it worked: not the incident
    new: list[str]  # those that came since
    summary: str


SinceAnswer = SinceReport | NotApplicable
