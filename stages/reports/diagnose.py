"""What broke, ranked by the metric that it explains."""

from typing import Literal

from stages.reports.suspect import Component, Ranked
from stages.stage import At, Estimate, MetricName, Report, Share

DIAGNOSE = At("artifacts/diagnose/report.json")

Strength = Literal["strong", "moderate", "weak"]


class Finding(Report):
    """One cause. The strength is ordinal evidence, no probability."""

    component: Component
    kind: str  # transpose, scale, sim_to_real_gap, unknown, ...
    step: str | None
    title: str  # one line for people
    explains: Estimate | None  # a loss in the metric; None where it could not be measured
    strength: Strength
    evidence: list[str]
    action: str  # what restores service now
    harmless: bool  # it differs; its whole interval, or the answers it changes, keep the margin
    undecided: bool  # nothing shows that it costs anything, and nothing that it does not
    confidence: Share | None = None  # that its component and kind are among what broke


class Level(Report):
    """The metric in one situation."""

    name: str  # simulation; real, reference; real, as deployed; ...
    metric: Estimate
    measured: MetricName = "accuracy"


class Part(Report):
    """What one component of the gap costs; the parts add up to the gap."""

    component: Component
    loss: Estimate  # in the metric; negative is a gain


class Evidence(Report):
    """What spoke for and against one answer to "what broke": the figures of `assay.weighing`."""

    component: Component | Literal["none"]
    kind: str
    figures: dict[str, float]


class DiagnoseReport(Report):
    """The verdict sentence, the causes, and what was not examined."""

    verdict: str
    measured_as: str  # in words
    metric: MetricName = "accuracy"  # of the gap, its parts and the findings
    unit: str | None = None
    levels: list[Level]  # the last is nearest to the deployment; a level of mae is an error
    rows_say: str = ""  # which rows the levels rest on
    gap: Estimate | None  # what is lost from sim (reference) to the last level; None: not known
    nothing_shown: bool = False  # the verdict says that nothing is shown to be broken
    gap_says: str = ""
    parts: list[Part]
    parts_say: str = ""  # how they were told apart
    findings: list[Finding]  # causes first, by what they explain; harmless differences last
    actions: list[str]  # what to do now, in this order
    ranked: list[Ranked] = []  # noqa: RUF012  pydantic copies it; what broke, the likeliest first
    weighed: list[Evidence] = []  # noqa: RUF012  what the confidences rest on, to fit them anew
    questions: list[str] = []  # noqa: RUF012  for whoever owns the data
    not_examined: list[str]
    margin: float  # a loss in the metric that nobody would miss
    margin_share: float = 0.02  # the same as a share, of rows or of what the metric spans
    agreement_within: float = 0.0  # numbers this near agree
