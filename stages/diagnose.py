"""What broke between validation and the field, and how much of the gap does each cause explain?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field as Knob

from stages.metric import Metric
from stages.reports.diagnose import (
    DIAGNOSE,
    DiagnoseReport,
)
from stages.reports.environments import ENVIRONMENTS, EnvironmentsReport
from stages.reports.features import FEATURES, FeaturesAnswer, FeaturesReport
from stages.reports.field import FIELD, FieldAnswer
from stages.reports.inputs import INPUTS, InputsAnswer
from stages.reports.parity import PARITY, ParityAnswer, ParityReport
from stages.reports.postprocess import POSTPROCESSED
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.probe import PROBE, ProbeAnswer, ProbeReport
from stages.reports.replay import REPLAY, ReplayReport
from stages.reports.runtime import RUNTIME, RuntimeAnswer
from stages.reports.since import SINCE, SinceAnswer
from stages.reports.split import ROLES
from stages.reports.swap import SWAP, SwapAnswer, SwapReport
from stages.stage import FromCase, MetricName, NotApplicable, Params, Share, Stage

if TYPE_CHECKING:
    from assay.causes import Seen
    from assay.intervals import Interval
    from assay.scores import Scores
    from assay.shares import Shares
    from stages.answers import Rows
    from stages.scene import Scene
    from stages.situations import Situations
    from stages.suspicions import Suspecting


class DiagnoseParams(Params):
    """How sure the figures are, and what nobody would miss.

    A margin is a share of all rows, of R2, or, for an error in a unit, of the error that the best
    constant answer makes on validation.
    """

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    resamples: int = 2000
    seed: int = 0
    margin: Share = 0.02  # a difference that costs less is harmless
    drop_to_see: Share = Knob(default=0.05, gt=0)  # for which the labels needed are counted
    atol_outputs: float = 1e-4  # raw outputs of two models that are the same
    agreement_tolerance: Share = 0.05  # standard deviations of the targets: numbers that agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Which rows, the sides' answers, and what the examinations found."""

    roles: Annotated[Path, ROLES]
    reference: Annotated[PredictReport, PREDICT.of("reference")]
    candidate: Annotated[PredictReport, PREDICT.of("candidate")]
    last_good: Annotated[PredictReport | None, PREDICT.of("last_good")] = None
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    last_good_outputs: Annotated[Path | None, OUTPUTS.of("last_good")] = None
    reference_rule: Annotated[Path | None, POSTPROCESSED.of("reference")] = None
    candidate_rule: Annotated[Path | None, POSTPROCESSED.of("candidate")] = None
    parity: Annotated[ParityAnswer, PARITY]
    swap: Annotated[SwapAnswer, SWAP]
    features: Annotated[FeaturesAnswer, FEATURES]
    probe: Annotated[ProbeAnswer, PROBE]
    environments: Annotated[EnvironmentsReport | None, ENVIRONMENTS] = None
    inputs: Annotated[InputsAnswer | None, INPUTS] = None
    since: Annotated[SinceAnswer | None, SINCE] = None
    replay: Annotated[ReplayReport | None, REPLAY] = None
    runtime: Annotated[RuntimeAnswer | None, RUNTIME] = None
    field: Annotated[FieldAnswer | None, FIELD] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The verdict."""

    report: Annotated[DiagnoseReport, DIAGNOSE]


def run(params: DiagnoseParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Exchange one part at a time on the same rows, and see what the metric does.

    Where no real row of role `diagnose` has a label, the reference's answers stand in for labels:
    what is measured then is agreement, and the data part is unknown.
    """
    from assay.ranking import rank
    from assay.shares import attribute
    from assay.weighing import weigh
    from stages.diagnosis import told

    seen_by = _situations(params, inputs)
    steps = inputs.swap.steps if isinstance(inputs.swap, SwapReport) else []
    sets = {step.key: f"swap-{step.key}" for step in steps}
    keys = {key: name for key, name in sets.items() if name in inputs.reference.sets}
    shares = attribute(seen_by.answers(keys), num_draws=params.resamples, seed=params.seed)
    scene = _scene(params, inputs, seen_by, shares)
    tolerance = params.atol_outputs * (1.0 if seen_by.own.is_share else max(1.0, seen_by.spread))
    seen = _seen(inputs, scene, seen_by, tolerance)
    causes = rank(shares, seen, margin=scene.margin)
    weighed = weigh(causes, shares, seen, margin=scene.margin)
    return Outputs(report=told(causes, weighed, scene))


def _situations(params: DiagnoseParams, inputs: Inputs) -> "Situations":
    from stages.answers import Side
    from stages.situations import Predicted, situations

    sides = {
        "reference": (inputs.reference, inputs.reference_outputs, inputs.reference_rule),
        "candidate": (inputs.candidate, inputs.candidate_outputs, inputs.candidate_rule),
        "last_good": (inputs.last_good, inputs.last_good_outputs, None),
    }
    known = {
        name: Predicted(
            name=name, side=Side(outputs), report=report, rule=None if rule is None else Side(rule)
        )
        for name, (report, outputs, rule) in sides.items()
        if report is not None and outputs is not None
    }
    own = Metric(params.metric, params.unit)
    return situations(inputs.roles, own, known, params.agreement_tolerance)


def _scene(
    params: DiagnoseParams, inputs: Inputs, seen_by: "Situations", shares: "Shares"
) -> "Scene":
    from assay.scores import level
    from stages import not_finite
    from stages.labels_needed import to_see
    from stages.scene import Scene
    from stages.suspicions import gathered, unexamined

    on_sim, same = seen_by.on_sim(), seen_by.agreement()
    own = seen_by.own

    def bounded(metric: Metric, found: "Scores | None", rows: "Rows") -> "Interval | None":
        if found is None:
            return None
        return level(metric.name, found, rows.groups, num_draws=params.resamples, seed=params.seed)

    sim = bounded(own, on_sim, seen_by.sim)
    drop = params.drop_to_see * seen_by.own_spread
    known = None if sim is None or on_sim is None else (sim, on_sim, seen_by.sim)
    return Scene(
        metric=seen_by.metric,
        own=own,
        shares=shares,
        sim=sim,
        parity=inputs.parity,
        swap=inputs.swap,
        features=inputs.features,
        probe=inputs.probe,
        candidate=inputs.candidate,
        agreement=bounded(Metric("agreement"), same, seen_by.real),
        labelled=seen_by.labelled,
        margin=params.margin * seen_by.spread,
        margin_share=params.margin,
        within=seen_by.within,
        drop=drop,
        needed=to_see(drop, own, known, seen_by.field),
        at_hand=len(seen_by.field),
        deviations=seen_by.deviations(),
        environments=inputs.environments,
        inputs=inputs.inputs,
        since=inputs.since,
        suspects=gathered(*_examined(inputs).values()),
        unexamined=unexamined(_examined(inputs)),
        not_finite=not_finite.says(inputs.reference, inputs.candidate),
    )


def _examined(inputs: Inputs) -> "dict[str, Suspecting | NotApplicable | None]":
    return {
        "Whether validation shares samples with training": _replayed(inputs.replay),
        "The models layer by layer, and whether a batch changes an answer": inputs.runtime,
        "Class prior, labels, noise, blur, exposure and delays inside the data": inputs.field,
    }


def _replayed(replay: ReplayReport | None) -> ReplayReport | NotApplicable | None:
    """Say why rows were not compared, where nothing else was found out either."""
    if replay is None or replay.suspects or replay.leakage.why_not is None:
        return replay
    return NotApplicable(not_applicable=replay.leakage.why_not)


def _seen(inputs: Inputs, scene: "Scene", seen_by: "Situations", tolerance: float) -> "Seen":
    from assay.causes import Different, Seen
    from stages.suspicions import suspected

    parity = inputs.parity if isinstance(inputs.parity, ParityReport) else None
    probe = inputs.probe if isinstance(inputs.probe, ProbeReport) else None
    differing = [own for own in parity.own if not own.equal] if parity else []
    begins = isinstance(inputs.features, FeaturesReport) and inputs.features.begins_at is not None
    differ = seen_by.differ(tolerance)
    return Seen(
        steps=[
            Different(
                key=own.key,
                name=own.step,
                kind=own.transform.kind if own.transform else None,
                explained=own.transform.explained if own.transform else 0.0,
                alternatives=len(own.transform.alternatives) if own.transform else 0,
            )
            for own in differing
        ],
        first_differing_step=parity.first_differing_step if parity else None,
        model_differs=differ.labels or bool(differ.raw),
        raw_equal=differ.labels and differ.raw is False,
        domains_part=begins or (probe is not None and probe.learns),
        rules_differ=seen_by.rules_differ(tolerance),
        suspects=suspected(scene.suspects),
    )


STAGE = Stage(run, image="base")
