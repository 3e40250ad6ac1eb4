"""What restores service now, and at what price?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from stages.metric import Metric
from stages.reports.mitigate import MITIGATE, OFFERS, MitigateAnswer, MitigateReport, NotOffered
from stages.reports.parity import PARITY, ParityAnswer
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.preprocess import TENSORS_REAL, TENSORS_SIM
from stages.reports.runtime import RUNTIME, RuntimeAnswer
from stages.reports.split import ROLES
from stages.reports.train import MODEL
from stages.stage import (
    CasePath,
    FromCase,
    MetricName,
    Model,
    Needs,
    NotApplicable,
    Params,
    Share,
    Stage,
    Step,
)

if TYPE_CHECKING:
    from stages.mitigate_attempts import Attempts


NOT_LOOKED = NotApplicable(not_applicable="Nobody looked at the runtime.")


class MitigateParams(Params):
    """Who serves, what may be put in its place, and what a mitigation is held to."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    classes: Annotated[int | None, FromCase("classes")] = None  # None: labels are numbers
    model: Annotated[Model | None, FromCase("candidate.model")] = None  # None: it was recorded
    image: Annotated[str, FromCase("candidate.image")] = "torch"
    postprocess: Annotated[str | None, FromCase("candidate.postprocess")] = None
    reference_steps: Annotated[list[Step], FromCase("reference.steps")] = []  # noqa: RUF012  pydantic copies it
    reference_model: Annotated[Model | None, FromCase("reference.model")] = None
    min_rows: int = Field(default=20, ge=2)  # labelled, of role fit and of role prove
    alpha: Share = 0.05  # of any false acceptance, over all that are judged
    max_sim_loss: Share = 0.02  # as a margin, see `diagnose`
    accept: Share = 0.99  # of the difference that an undone transform has to explain
    answered_accuracy: Share = 0.95  # of what is still answered in safe mode
    resamples: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Both sides' tensors and answers, what worked before, and the candidate's weights."""

    roles: Annotated[Path, ROLES]
    parity: Annotated[ParityAnswer, PARITY]
    model: Annotated[Path, MODEL]
    weights: Annotated[Path | None, CasePath("candidate.weights")]  # these instead, where given
    reference_sim: Annotated[Path, TENSORS_SIM.of("reference")]
    reference_real: Annotated[Path, TENSORS_REAL.of("reference")]
    candidate_sim: Annotated[Path, TENSORS_SIM.of("candidate")]
    candidate_real: Annotated[Path, TENSORS_REAL.of("candidate")]
    candidate: Annotated[PredictReport, PREDICT.of("candidate")]
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    last_good_outputs: Annotated[Path | None, OUTPUTS.of("last_good")] = None
    runtime: Annotated[RuntimeAnswer, RUNTIME] = NOT_LOOKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What was tried, and a file for each that was judged."""

    report: Annotated[MitigateAnswer, MITIGATE]
    offers: Annotated[Path, OFFERS]


def run(params: MitigateParams, inputs: Inputs, into: Path) -> Outputs:
    """Fit on role fit, judge on role prove; what cannot be tried says why."""
    from stages.answers import Side, why_unknown
    from stages.mitigate_attempts import Attempts
    from stages.mitigate_rows import judging

    folder = OFFERS.under(into)
    folder.mkdir(parents=True)
    metric = Metric(params.metric, params.unit)
    found = judging(inputs.roles, metric, Side(inputs.candidate_outputs), inputs.candidate)
    few = {role: len(found.rows[role]) for role in ("fit", "prove")}
    unknown = why_unknown(inputs.candidate, "real-candidate")
    reason = f"The candidate's answers are not known: {unknown}" if unknown else ""
    if not reason and min(few.values()) < params.min_rows:
        reason = (
            f"{few['fit']} real rows with a label fit a mitigation and {few['prove']} prove it; "
            f"{params.min_rows} of each are asked for."
        )
    if reason:
        _write(folder, {})
        return Outputs(report=NotApplicable(not_applicable=reason), offers=folder)
    return _judged(params, Attempts(params=params, inputs=inputs, judging=found), folder)


def _judged(params: MitigateParams, attempts: "Attempts", folder: Path) -> Outputs:
    from assay.scores import spread
    from stages.mitigate_judged import Judge

    tried, failed = attempts.tried()
    rows = attempts.judging.rows
    margin = params.max_sim_loss * spread(params.metric, rows["prove"].labels)
    judge = Judge(
        judging=attempts.judging,
        labels=attempts.labels,
        confidence=attempts.confidence(),
        alpha=params.alpha,
        margin=margin,
        num_draws=params.resamples,
        seed=params.seed,
    )
    offers, left_out = judge.offers(tried)
    safe = attempts.safe()
    threshold, why = safe.threshold()
    kept = {one.kind for one in offers}
    files: dict[str, dict[str, Any]] = {
        one.kind: {**one.files, "load.txt": "\n".join([*one.load, ""]).encode()}
        for one in tried
        if one.kind in kept
    }
    _write(folder, files | attempts.abstain_files(threshold))
    report = MitigateReport(
        metric=params.metric,
        unit=params.unit,
        offers=offers,
        not_offered=[NotOffered(kind=kind, why=said) for kind, said in failed.items()] + left_out,
        safe_mode=list(safe.modes(threshold)),
        why_no_abstaining=why,
        margin=margin,
        alpha=params.alpha,
    )
    return Outputs(report=report, offers=folder)


def _write(folder: Path, files: dict[str, dict[str, Any]]) -> None:
    import json

    for kind, own in files.items():
        (folder / kind).mkdir()
        for name, content in own.items():
            (folder / kind / name).write_bytes(content)
    (folder / "kinds.json").write_text(json.dumps(sorted(files)) + "\n", encoding="utf-8")


STAGE = Stage(run, image="torch", needs=Needs(memory="4GiB", timeout_s=1800))
