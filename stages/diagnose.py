"""What broke between validation and the field, and how much of the gap does each cause explain?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stages.figures import estimate
from stages.reports.diagnose import DIAGNOSE, DiagnoseReport, Finding, Level, Part
from stages.reports.features import FEATURES, FeaturesAnswer, FeaturesReport
from stages.reports.parity import PARITY, ParityAnswer, ParityReport
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.probe import PROBE, ProbeAnswer, ProbeReport
from stages.reports.split import ROLES
from stages.reports.swap import SWAP, SwapAnswer, SwapReport
from stages.stage import Params, Stage

if TYPE_CHECKING:
    from assay.ranking import Answers, Cause, Seen
    from stages.answers import Rows, Side
    from stages.sentences import Scene


class DiagnoseParams(Params):
    """How sure the figures are, and what nobody would miss."""

    resamples: int = 2000
    seed: int = 0
    margin: float = 0.02  # metric points: a difference that costs less is harmless
    atol_outputs: float = 1e-4  # raw outputs of two models that are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Which rows, both sides' answers, and what the examinations found."""

    roles: Annotated[Path, ROLES]
    reference: Annotated[PredictReport, PREDICT.of("reference")]
    candidate: Annotated[PredictReport, PREDICT.of("candidate")]
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    parity: Annotated[ParityAnswer, PARITY]
    swap: Annotated[SwapAnswer, SWAP]
    features: Annotated[FeaturesAnswer, FEATURES]
    probe: Annotated[ProbeAnswer, PROBE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The verdict."""

    report: Annotated[DiagnoseReport, DIAGNOSE]


def run(params: DiagnoseParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Exchange one part at a time on the same rows, and see what the metric does.

    Where no real row of role `diagnose` has a label, the reference's answers stand in for labels:
    what is measured then is agreement, and the data part is unknown.
    """
    from assay.criteria import accuracy
    from assay.ranking import attribute, rank
    from stages.answers import Side, agree, models_differ
    from stages.sentences import Scene

    reference, candidate = Side(inputs.reference_outputs), Side(inputs.candidate_outputs)
    rows, labelled = _real_rows(inputs, reference)
    shares = attribute(
        _answers(inputs, reference, candidate, rows), num_draws=params.resamples, seed=params.seed
    )
    same = agree(reference, candidate, "real-reference", rows)
    scene = Scene(
        shares=shares,
        parity=inputs.parity,
        swap=inputs.swap,
        features=inputs.features,
        probe=inputs.probe,
        candidate=inputs.candidate,
        agreement=accuracy(same, rows.groups, num_draws=params.resamples, seed=params.seed),
        measured_as="accuracy" if labelled else "agreement with the reference",
        labelled=labelled,
        margin=params.margin,
    )
    labels, raw = models_differ(reference, candidate, rows, params.atol_outputs)
    seen = _seen(inputs, labels_differ=labels, raw_differs=raw, labelled=labelled)
    return Outputs(report=_report(rank(shares, seen, margin=params.margin), scene))


def _real_rows(inputs: Inputs, reference: "Side") -> "tuple[Rows, bool]":
    from dataclasses import replace

    from stages.answers import rows_of

    rows = rows_of(inputs.roles, "real", "diagnose")
    if len(rows):
        return rows, True
    rows = rows_of(inputs.roles, "real", None, labelled=False)
    return replace(rows, labels=reference.must("real-reference", rows)), False


def _answers(inputs: Inputs, reference: "Side", candidate: "Side", rows: "Rows") -> "Answers":
    from assay.ranking import CELLS, MODEL, PREPROCESSING, Answers
    from stages.answers import rows_of

    sim = rows_of(inputs.roles, "sim", "validation")
    steps = inputs.swap.steps if isinstance(inputs.swap, SwapReport) else []
    keys = [step.key for step in steps if f"swap-{step.key}" in inputs.reference.sets]
    has_sim = "sim" in inputs.candidate.sets
    return Answers(
        sim=reference.right("sim", sim),
        sim_candidate=candidate.right("sim", sim) if has_sim else None,
        real={
            cell: (candidate if MODEL in cell else reference).right(
                "real-candidate" if PREPROCESSING in cell else "real-reference", rows
            )
            for cell in CELLS
        },
        swaps={key: reference.right(f"swap-{key}", rows) for key in keys},
        sim_groups=sim.groups,
        real_groups=rows.groups,
    )


def _seen(inputs: Inputs, *, labels_differ: bool, raw_differs: bool, labelled: bool) -> "Seen":
    from assay.ranking import Different, Seen

    parity = inputs.parity if isinstance(inputs.parity, ParityReport) else None
    probe = inputs.probe if isinstance(inputs.probe, ProbeReport) else None
    differing = [own for own in parity.own if not own.equal] if parity else []
    begins = isinstance(inputs.features, FeaturesReport) and inputs.features.begins_at is not None
    learns = probe is not None and any(
        point.accuracy.low > probe.baseline.high for point in probe.points
    )
    return Seen(
        steps=[
            Different(
                key=own.key, name=own.step, kind=own.transform.kind if own.transform else None
            )
            for own in differing
        ],
        first_differing_step=parity.first_differing_step if parity else None,
        model_differs=labels_differ or raw_differs,
        raw_equal=labels_differ and not raw_differs,
        domains_part=begins or learns,
        has_labels=labelled,
    )


def _report(causes: "tuple[Cause, ...]", scene: "Scene") -> DiagnoseReport:
    from stages import sentences

    shares, known = scene.shares, scene.labelled
    return DiagnoseReport(
        verdict=sentences.verdict(causes, scene),
        measured_as=scene.measured_as,
        levels=[
            Level(name="simulation", metric=estimate(shares.sim)),
            *([Level(name="real, reference", metric=estimate(shares.reference))] if known else []),
            Level(
                name="real, as deployed" if known else "real, agreement with the reference",
                metric=estimate(shares.candidate),
            ),
        ],
        gap=estimate(shares.gap) if known else None,
        parts=[
            *([Part(component="data", loss=estimate(shares.data))] if known else []),
            Part(component="preprocessing", loss=estimate(shares.preprocessing)),
            Part(component="model", loss=estimate(shares.model)),
        ],
        findings=[
            Finding(
                component=cause.component,
                kind=cause.kind,
                step=cause.step,
                title=sentences.title(cause, scene),
                explains=None if cause.explains is None else estimate(cause.explains),
                strength=cause.strength,
                evidence=sentences.evidence(cause, scene),
                action=sentences.action(cause, scene),
                harmless=cause.harmless,
                undecided=cause.undecided,
            )
            for cause in causes
        ],
        actions=sentences.mend_first(causes, scene),
        not_examined=sentences.not_examined(scene),
        margin=scene.margin,
    )


STAGE = Stage(run, image="base")
