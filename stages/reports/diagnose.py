"""What broke, ranked by the metric that it explains."""

from typing import Literal

from stages.stage import At, Estimate, Report

DIAGNOSE = At("artifacts/diagnose/report.json")

Component = Literal["preprocessing", "model", "postprocessing", "data", "unknown"]
Strength = Literal["strong", "moderate", "weak"]


class Finding(Report):
    """One cause. The strength is ordinal evidence, no probability."""

    component: Component
    kind: str  # transpose, scale, sim_to_real_gap, unknown, ...
    step: str | None
    title: str  # one line for people
    explains: Estimate | None  # metric points; None where it could not be measured
    strength: Strength
    evidence: list[str]
    action: str  # what restores service now
    harmless: bool  # a difference that is there, and whose whole interval lies within the margin
    undecided: bool  # nothing shows that it costs anything, and nothing that it does not


class Level(Report):
    """The metric in one situation."""

    name: str  # sim, reference on real, candidate on real, ...
    metric: Estimate


class Part(Report):
    """What one component of the gap costs; the parts add up to the gap."""

    component: Component
    loss: Estimate  # metric points; negative is a gain


class DiagnoseReport(Report):
    """The verdict sentence, the causes, and what was not examined."""

    verdict: str
    measured_as: str  # accuracy, or agreement with the reference where no real row has a label
    levels: list[Level]
    gap: Estimate | None  # sim (reference) minus real (candidate); None without labelled real rows
    parts: list[Part]
    findings: list[Finding]  # causes first, by what they explain; harmless differences last
    actions: list[str]  # what to do now, in this order
    not_examined: list[str]
    margin: float  # metric points that nobody would miss
