"""May the candidate serve?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stages.figures import interval, points
from stages.reports.contract import CONTRACT, ContractReport
from stages.reports.diagnose import DIAGNOSE, DiagnoseReport
from stages.reports.features import FEATURES, FeaturesAnswer, FeaturesReport
from stages.reports.gate import GATE, METRICS, Criterion, GateReport
from stages.reports.parity import PARITY, ParityAnswer, ParityReport
from stages.reports.predict import OUTPUTS
from stages.reports.split import ROLES
from stages.stage import Params, Share, Stage

if TYPE_CHECKING:
    from assay.intervals import Interval


class GateParams(Params):
    """What the candidate is held to; each is the bound that the whole 95 % interval has to keep."""

    min_accuracy: Share = 0.9
    max_drop: Share = 0.05  # validation minus the field, metric points
    min_agreement: Share = 0.98  # with the reference as a whole, on all real rows
    min_rows: int = 50  # below that nothing is decided
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
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The verdict, and flat figures for `dvc metrics`."""

    report: Annotated[GateReport, GATE]
    metrics: Annotated[str, METRICS]


def run(params: GateParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Hold each figure's whole interval to its threshold; what straddles it abstains."""
    from assay.criteria import at_least, at_most, drop, verdict

    rows = params.min_rows
    proved, sim = _accuracy(params, inputs, "real", "prove"), _accuracy(params, inputs, "sim")
    agreed = _agreement(params, inputs)
    lost = drop(sim, proved) if sim and proved else None
    criteria = [
        _contract(inputs.contract),
        _parity(inputs.parity, inputs.diagnose),
        _held(
            "accuracy",
            "The candidate's accuracy on held-out real rows is at least the threshold.",
            proved,
            params.min_accuracy,
            at_least(proved, params.min_accuracy, rows) if proved else None,
        ),
        _held(
            "drop",
            "From validation to the field the accuracy falls by at most the threshold.",
            lost,
            params.max_drop,
            at_most(lost, params.max_drop, rows) if lost else None,
        ),
        _held(
            "agreement",
            "As a whole, the candidate gives the reference's label on real rows.",
            agreed,
            params.min_agreement,
            at_least(agreed, params.min_agreement, rows),
        ),
    ]
    passed = verdict([criterion.passed for criterion in criteria])
    report = GateReport(verdict=passed, criteria=criteria)
    return Outputs(report=report, metrics=_metrics(report, inputs))


def _accuracy(
    params: GateParams, inputs: Inputs, dataset: str, role: str = "validation"
) -> "Interval | None":
    """The candidate on real rows, the reference on validation; None where no row has a label."""
    from assay.criteria import accuracy
    from stages.answers import Side, rows_of

    rows = rows_of(inputs.roles, dataset, role)
    real = dataset == "real"
    side = Side(inputs.candidate_outputs if real else inputs.reference_outputs)
    right = side.right("real-candidate" if real else "sim", rows)
    if not len(rows):
        return None
    return accuracy(right, rows.groups, num_draws=params.resamples, seed=params.seed)


def _agreement(params: GateParams, inputs: Inputs) -> "Interval":
    from dataclasses import replace

    from assay.criteria import accuracy
    from stages.answers import Side, rows_of

    rows = rows_of(inputs.roles, "real", None, labelled=False)
    wanted = Side(inputs.reference_outputs).must("real-reference", rows)
    same = Side(inputs.candidate_outputs).right("real-candidate", replace(rows, labels=wanted))
    return accuracy(same, rows.groups, num_draws=params.resamples, seed=params.seed)


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
    says = "Both sides' preprocessing makes the same numbers of the same rows, or it costs nothing."
    figure, threshold, rows, passed = None, 0.0, 0, None
    if not isinstance(parity, ParityReport):
        why = parity.not_applicable
    else:
        largest = [step.max_abs for step in parity.chain if step.max_abs is not None]
        figure = max(largest) if len(largest) == len(parity.chain) > 0 else None
        threshold, rows, passed = parity.atol, len(parity.rows), parity.passed
        why = "Every step agrees."
        if not passed:
            why = f"The first step that differs is `{parity.first_differing_step}`."
            proof = _proof_of_no_harm(parity, diagnosis)
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
    )


def _proof_of_no_harm(parity: ParityReport, diagnosis: DiagnoseReport) -> str:
    """Say what proves that all that differs is harmless; nothing where one difference is not.

    Each step was exchanged by itself, and all of them together: two harmless ones may add up.
    """
    found = [one for one in diagnosis.findings if one.component == "preprocessing"]
    differing = {own.step for own in parity.own if not own.equal}
    harmless = {one.step for one in found if one.harmless}
    [whole] = [part.loss for part in diagnosis.parts if part.component == "preprocessing"]
    shown = len(found) == len(harmless) and differing == harmless != set()
    # n rows without a single loss are compatible with a share of 3 / n (Hanley 1983).
    most = max(whole.high, 3 / whole.n)
    if not shown or most > diagnosis.margin:
        return ""
    return (
        f"The diagnosis proved every difference harmless: all of the candidate's preprocessing "
        f"costs at most {points(most)} of {diagnosis.measured_as} "
        f"({interval(whole)}), within the margin of {points(diagnosis.margin)}."
    )


def _held(
    name: str,
    says: str,
    found: "Interval | None",
    threshold: float,
    passed: bool | None,
) -> Criterion:
    from assay.criteria import rows_to_decide

    if found is None:
        why = "No row of this role has a label."
    elif passed is not None:
        why = "The whole interval keeps it." if passed else "The whole interval misses it."
    elif found.low <= threshold <= found.high:
        needed = rows_to_decide(found, threshold)
        more = f" About {needed} rows would decide." if needed else ""
        why = f"The interval straddles the threshold.{more}"
    else:
        why = f"{found.n} rows are too few to decide."
    return Criterion(
        name=name,
        says=says,
        figure=found.value if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        threshold=threshold,
        n=found.n if found else 0,
        groups=found.groups if found else None,
        passed=passed,
        why=why,
    )


def _metrics(report: GateReport, inputs: Inputs) -> str:
    """Flatten the figures; what is not known is left out, as `dvc metrics` has no word for it."""
    import json

    by_name = {criterion.name: criterion.figure for criterion in report.criteria}
    levels = [level.metric.value for level in inputs.diagnose.levels]
    known = inputs.diagnose.gap is not None
    figures = {
        "accuracy_sim": levels[0],
        "accuracy_real_reference": levels[1] if known else None,
        "accuracy_real_candidate": levels[-1] if known else None,
        "accuracy_prove_candidate": by_name["accuracy"],
        "gap": inputs.diagnose.gap and inputs.diagnose.gap.value,
        "agreement": by_name["agreement"],
        "parity_max_abs": by_name["parity"],
        "contract_breaches": by_name["contract"],
        "gate_open": float(report.verdict == "open"),
    }
    for part in inputs.diagnose.parts:
        figures[f"loss_{part.component}"] = part.loss.value
    if isinstance(inputs.features, FeaturesReport) and inputs.features.layers:
        figures["effect_last_layer"] = inputs.features.layers[-1].effect
    finite = {name: figure for name, figure in figures.items() if figure is not None}
    return json.dumps(finite, indent=2, allow_nan=False) + "\n"


STAGE = Stage(run, image="base")
