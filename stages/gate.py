"""May the candidate serve?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from stages.metric import Metric
from stages.reports.contract import CONTRACT, ContractReport
from stages.reports.diagnose import DIAGNOSE, DiagnoseReport
from stages.reports.features import FEATURES, FeaturesAnswer, FeaturesReport
from stages.reports.gate import GATE, METRICS, Criterion, GateReport
from stages.reports.parity import PARITY, ParityAnswer, ParityReport
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.split import ROLES
from stages.stage import FromCase, MetricName, Params, Share, Stage

if TYPE_CHECKING:
    from stages.gate_beside import Beside
    from stages.held_figures import Looked


BESIDE = ("what worked", "simulation", "groups", "calibration")


class GateParams(Params):
    """What the candidate is held to; each is the bound that the whole interval has to keep."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"
    min_accuracy: Share = 0.9
    min_r2: float | None = None  # of a regression by r2; None: not stated, and the gate abstains
    max_mae: float | None = None  # of one by mae, in its unit
    max_drop: Share = 0.05  # validation minus the field; as a margin, see `diagnose`
    min_agreement: Share = 0.98  # with the reference as a whole, on all real rows
    max_loss: Share = 0.02  # to what worked, on simulation, and of any group; as a margin
    max_calibration_error: Share | None = None  # None: not held
    min_group_rows: int = Field(default=10, ge=2)  # a group with fewer is told, not tested
    alpha: float = Field(default=0.05, gt=0, lt=1)  # of all looks at the rows that prove
    look: int | None = Field(default=None, ge=1)  # which look it is; None: the only one
    min_rows: int = 50  # below that nothing passes; a whole interval beyond a threshold fails
    resamples: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The examinations, and the answers on rows that the diagnosis did not see."""

    contract: Annotated[ContractReport, CONTRACT]
    parity: Annotated[ParityAnswer, PARITY]
    features: Annotated[FeaturesAnswer, FEATURES]
    diagnose: Annotated[DiagnoseReport, DIAGNOSE]
    roles: Annotated[Path, ROLES]
    candidate: Annotated[PredictReport, PREDICT.of("candidate")]
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    last_good_outputs: Annotated[Path | None, OUTPUTS.of("last_good")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The verdict, and flat figures for `dvc metrics`."""

    report: Annotated[GateReport, GATE]
    metrics: Annotated[str, METRICS]


def run(params: GateParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Hold each figure's whole interval to its threshold; what straddles it abstains."""
    from assay.criteria import verdict
    from stages.gate_reasons import because
    from stages.held_figures import Bootstrap
    from stages.looks import look_at

    looked = _looked(params, inputs)
    proving = looked.proving()
    answers = looked.candidate.labels("real-candidate", proving) if len(proving) else None
    named = params.pictures == "full"
    look = look_at(inputs.roles, answers, params.look, params.alpha, named=named)
    draws = Bootstrap(num_draws=params.resamples, seed=params.seed, confidence=1 - look.alpha)
    held = looked.hold(draws, params.min_rows)
    param = {"r2": "min_r2", "mae": "max_mae"}.get(params.metric, "min_accuracy")
    threshold: float | None = getattr(params, param)
    criteria = [
        _contract(inputs.contract),
        _parity(inputs.parity, inputs.diagnose),
        held.level(threshold, param),
        held.drop(params.max_drop),
        held.agreement(params.min_agreement, inputs.diagnose.agreement_within),
        *_beside(params, inputs, looked, look.alpha).criteria(),
    ]
    report = GateReport(
        verdict=verdict([criterion.passed for criterion in criteria]),
        metric=params.metric,
        unit=params.unit,
        criteria=criteria,
        look=look,
    )
    why = because(report.verdict, criteria, held.metric)
    report = report.model_copy(update={"because": why})
    return Outputs(report=report, metrics=_metrics(report, inputs))


def _looked(params: GateParams, inputs: Inputs) -> "Looked":
    from stages.answers import Side, why_unknown
    from stages.held_figures import Looked

    why = why_unknown(inputs.candidate, "real-candidate")
    return Looked(
        roles=inputs.roles,
        metric=Metric(params.metric, params.unit),
        reference=Side(inputs.reference_outputs),
        candidate=Side(inputs.candidate_outputs),
        within=inputs.diagnose.agreement_within,
        answered=inputs.candidate,
        unrecorded=f"The candidate's answers are not known: {why}" if why else "",
    )


def _beside(params: GateParams, inputs: Inputs, looked: "Looked", alpha: float) -> "Beside":
    from stages.answers import Side, rows_of
    from stages.gate_beside import Beside

    metric = looked.metric
    return Beside(
        metric=metric,
        prove=looked.proving(),
        sim=rows_of(inputs.roles, "sim", "validation", task=metric.task),
        candidate=looked.candidate,
        reference=looked.reference,
        last_good=Side(inputs.last_good_outputs) if inputs.last_good_outputs else None,
        unrecorded=bool(looked.unrecorded),
        margin=params.max_loss,
        min_rows=params.min_rows,
        min_group_rows=params.min_group_rows,
        alpha=alpha,
        max_calibration_error=params.max_calibration_error,
        num_draws=params.resamples,
        seed=params.seed,
        private=params.pictures == "none",
    )


def _contract(contract: ContractReport) -> Criterion:
    broken = [check for check in contract.checks if not check.passed]
    named = ", ".join(sorted({f"{check.dataset}: {check.name}" for check in broken}))
    return Criterion(
        name="contract",
        says="Every expectation of the data contract holds.",
        figure=float(len(broken)),
        low=None,
        high=None,
        threshold=0.0,
        n=sum(contract.rows.values()),
        passed=contract.passed,
        why=f"Broken: {named}." if broken else "Every expectation holds.",
    )


def _parity(parity: ParityAnswer, diagnosis: DiagnoseReport) -> Criterion:
    from stages.gate_reasons import within_says
    from stages.held_figures import proof_of_no_harm

    limit = ""
    says = "Both sides' preprocessing makes the same numbers of the same rows, or it costs nothing."
    figure, threshold, rows, passed = None, 0.0, 0, None
    if not isinstance(parity, ParityReport):
        why = parity.not_applicable
    else:
        largest = [step.max_abs for step in parity.chain if step.max_abs is not None]
        figure = max(largest) if len(largest) == len(parity.chain) > 0 else None
        threshold, rows, passed = parity.atol, len(parity.rows), parity.passed
        limit, why = within_says(parity.atol, parity.rtol), "Every step agrees."
        if not passed:
            why = f"The first step that differs is `{parity.first_differing_step}`."
            differing = {own.step for own in parity.own if not own.equal}
            proof = proof_of_no_harm(differing, diagnosis)
            passed, why = bool(proof), f"{why} {proof}".strip()
    return Criterion(
        name="parity",
        says=says,
        figure=figure,
        low=None,
        high=None,
        threshold=threshold,
        n=rows,
        passed=passed,
        why=why,
        limit=limit,
    )


def _metrics(report: GateReport, inputs: Inputs) -> str:
    """Flatten the figures; what is not known is left out, as `dvc metrics` has no word for it."""
    import json

    by_name = {criterion.name: criterion.figure for criterion in report.criteria}
    levels = {level.name: level.metric.value for level in inputs.diagnose.levels}
    name = report.metric
    figures = {
        f"{name}_sim": levels.get("simulation"),
        f"{name}_real_reference": levels.get("real, reference"),
        f"{name}_real_candidate": levels.get("real, as deployed"),
        f"{name}_real_last_good": levels.get("real, last good"),
        f"{name}_prove_candidate": by_name[name],
        "gap": inputs.diagnose.gap and inputs.diagnose.gap.value,
        "agreement": by_name["agreement"],
        "parity_max_abs": by_name["parity"],
        "contract_breaches": by_name["contract"],
        **{_flat(name): by_name.get(name) for name in BESIDE},
        "gate_open": float(report.verdict == "open"),
    }
    for part in inputs.diagnose.parts:
        figures[f"loss_{part.component}"] = part.loss.value
    if isinstance(inputs.features, FeaturesReport) and inputs.features.layers:
        figures["effect_last_layer"] = inputs.features.layers[-1].effect
    finite = {name: figure for name, figure in figures.items() if figure is not None}
    return json.dumps(finite, indent=2, allow_nan=False) + "\n"


def _flat(name: str) -> str:
    return f"{name.replace(' ', '_')}_held"


STAGE = Stage(run, image="base")
