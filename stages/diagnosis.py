"""A diagnosis in words: verdict, causes with their evidence, answers with their confidence."""

from assay.causes import Cause
from assay.posterior import Weighed, likeliest
from stages import verdicts
from stages.actions import action, mend_first
from stages.evidence import evidence
from stages.facts_evidence import facts
from stages.figures import estimate
from stages.kinds import kind_title
from stages.questions import questions
from stages.reports.diagnose import DiagnoseReport, Evidence, Finding, Level, Part
from stages.reports.suspect import Component, Ranked
from stages.scene import Scene

MOST_RANKED = 6


def told(causes: tuple[Cause, ...], weighed: tuple[Weighed, ...], scene: Scene) -> DiagnoseReport:
    """Write the report.

    Args:
        causes: as ranked.
        weighed: what speaks for each answer.
        scene: what the sentences may speak of.
    """
    shares, ranked = scene.shares, likeliest(weighed)
    names: list[Component] = ["data", "preprocessing", "model", "postprocessing", "deployment"]
    sure = {one.cause: one.confidence for one in weighed if one.cause is not None}
    quiet = ranked[0].component == "none" and not _moves(causes, scene)
    losses = {"data": shares.data, **shares.parts}
    return DiagnoseReport(
        verdict=_verdict(causes, scene, quiet=quiet),
        nothing_shown=quiet,
        measured_as=scene.metric.word,
        metric=scene.metric.name,
        unit=scene.metric.unit,
        levels=[
            Level(name=name, metric=estimate(metric.shown(found)), measured=metric.name)
            for name, metric, found in scene.levels()
        ],
        gap=None if shares.gap is None else estimate(shares.gap),
        rows_say=verdicts.rows(scene),
        gap_says=f"{verdicts.gap(scene)} {verdicts.paired(causes, scene)}".strip(),
        parts=[
            Part(component=name, loss=estimate(loss))
            for name in names
            if (loss := losses.get(name)) is not None
        ],
        parts_say=verdicts.parts(scene),
        findings=[_finding(cause, sure[at], scene) for at, cause in enumerate(causes)],
        ranked=[_ranked(one) for one in ranked[:MOST_RANKED]],
        weighed=[
            Evidence(component=one.component, kind=one.kind, figures=dict(one.figures))
            for one in weighed
        ],
        questions=questions(causes, scene),
        actions=mend_first(causes, scene),
        not_examined=verdicts.not_examined(scene),
        margin=scene.margin,
        margin_share=scene.margin_share,
        agreement_within=scene.within,
    )


def _moves(causes: tuple[Cause, ...], scene: Scene) -> bool:
    """Tell whether something surely changes more answers than the margin, whatever labels say."""
    changing = (cause.changes for cause in causes if not cause.harmless)
    return any(found is not None and found.low > scene.margin_share for found in changing)


def _verdict(causes: tuple[Cause, ...], scene: Scene, *, quiet: bool) -> str:
    """Say first what no number stands for where no fault would be told before it."""
    said = [verdicts.verdict(causes, scene, quiet=quiet), scene.not_finite]
    nothing = all(cause.harmless for cause in causes)
    return " ".join(said[::-1] if nothing else said).strip()


def _finding(cause: Cause, confidence: float, scene: Scene) -> Finding:
    return Finding(
        component=cause.component,
        kind=cause.kind,
        step=cause.step,
        title=verdicts.title(cause, scene),
        explains=None if cause.explains is None else estimate(cause.explains),
        strength=cause.strength,
        evidence=[*evidence(cause, scene), *facts(cause, scene)],
        action=action(cause, scene),
        harmless=cause.harmless,
        undecided=cause.undecided,
        confidence=round(confidence, 4),
    )


def _ranked(one: Weighed) -> Ranked:
    return Ranked(
        component=one.component,
        kind=one.kind,
        title=kind_title(one.component, one.kind),
        another_name=bool(one.figures.get("other")),
        confidence=round(one.confidence, 4),
    )
