"""What changed since it last worked?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from stages.figures import estimate, percent
from stages.reports.collect import COLLECT, CollectReport
from stages.reports.environments import Difference
from stages.reports.parity import ATOL, PARITY, RTOL, ParityAnswer, ParityReport, StepDifference
from stages.reports.predict import OUTPUTS
from stages.reports.preprocess import PREPROCESS, STEPS, PreprocessReport
from stages.reports.since import SINCE, SinceAnswer, SinceReport
from stages.reports.split import ROLES
from stages.stage import FromCase, MetricName, NotApplicable, Params, Stage

if TYPE_CHECKING:
    from stages.metric import Metric

NOTHING_STATED = (
    "The case states no last_good. State the side as it worked, and what changed is told here."
)


class SinceParams(Params):
    """When two outputs count as equal, and how sure the metric's change is."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    atol: float = Field(default=ATOL, ge=0)  # in the units of each step's output
    rtol: float = Field(default=RTOL, ge=0)
    tolerance: float = Field(default=1e-4, ge=0)  # answers that are numbers, this near, agree
    resamples: int = Field(default=2000, ge=1)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What worked and what is deployed; absent where the case states no last_good."""

    roles: Annotated[Path, ROLES]
    reference: Annotated[CollectReport, COLLECT.of("reference")]
    candidate: Annotated[CollectReport, COLLECT.of("candidate")]
    last_good: Annotated[CollectReport | None, COLLECT.of("last_good")]
    parity: Annotated[ParityAnswer, PARITY]
    candidate_steps: Annotated[PreprocessReport, PREPROCESS.of("candidate")]
    last_good_steps: Annotated[PreprocessReport | None, PREPROCESS.of("last_good")]
    candidate_tensors: Annotated[Path, STEPS.of("candidate")]
    last_good_tensors: Annotated[Path | None, STEPS.of("last_good")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    last_good_outputs: Annotated[Path | None, OUTPUTS.of("last_good")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The changes, those that change numbers first."""

    report: Annotated[SinceAnswer, SINCE]


def run(params: SinceParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Compare facts, values and answers of what worked with those of what is deployed."""
    from stages.fingerprints import compare
    from stages.metric import Metric

    if inputs.last_good is None:
        return Outputs(report=NotApplicable(not_applicable=NOTHING_STATED))
    changed = compare(inputs.last_good, inputs.candidate)
    chain, why_no_chain = _chain(params, inputs)
    first = next((step.step for step in chain if not step.equal), None)
    known: dict[str, Any] = {"first_differing_step": first, "why_no_chain": why_no_chain}
    known |= _metric(params, inputs)
    old, new = _told_apart(inputs, changed.differences, chain)
    words = Metric(params.metric, params.unit)
    return Outputs(
        report=SinceReport(
            changes=changed.differences,
            not_compared=changed.not_compared,
            chain=chain,
            metric=params.metric,
            old=old,
            new=new,
            summary=_summary(changed.differences, known, words),
            **known,
        )
    )


def _chain(params: SinceParams, inputs: Inputs) -> tuple[list[StepDifference], str | None]:
    from stages.step_pairs import chain

    before, after = inputs.last_good_steps, inputs.candidate_steps
    if before is None or inputs.last_good_tensors is None:
        return [], "The outputs of what worked are not there."
    for report in (before, after):
        if not report.steps:
            return [], f"{report.side}: {report.why_not or 'it has no outputs step by step'}"
    if not before.paired or before.paired != after.paired:
        return [], "The sides kept different rows step by step."
    folders = (inputs.last_good_tensors, inputs.candidate_tensors)
    # No exchange was made between these two: a step before a side's first is not paired.
    pairs = chain((before, after), folders, inputs.last_good_tensors / "none")
    return [pair.difference(params.atol, params.rtol)[0] for pair in pairs], None


def _metric(params: SinceParams, inputs: Inputs) -> dict[str, Any]:
    from assay.intervals import bootstrap_difference
    from assay.scores import LOSSES, level
    from stages.answers import Side
    from stages.metric import Metric
    from stages.seen_rows import seen_rows

    words = Metric(params.metric, params.unit)
    draws = {"num_draws": params.resamples, "seed": params.seed}
    found: dict[str, Any] = dict.fromkeys(("before", "after", "loss", "agreement"))
    assert inputs.last_good_outputs is not None  # noqa: S101  stated, as the facts are
    sides = {
        "before": (Side(inputs.last_good_outputs), "real-last_good"),
        "after": (Side(inputs.candidate_outputs), "real-candidate"),
    }
    rows = seen_rows(inputs.roles, "real", words.task)
    given = {when: side.labels(name, rows) for when, (side, name) in sides.items()}
    if any(answers is None for answers in given.values()):
        missing = ", ".join(sides[when][1] for when, answers in given.items() if answers is None)
        return found | {"why_no_metric": f"No answers to {missing}."}
    same = _agree(given["before"], given["after"], params.tolerance)
    found["agreement"] = estimate(level("agreement", same, rows.groups, **draws))
    rows = rows.labelled()
    if not len(rows):
        return found | {"why_no_metric": "No real row has a label."}
    scores = {when: side.scores(name, rows, words) for when, (side, name) in sides.items()}
    for when, values in scores.items():
        found[when] = estimate(words.shown(level(params.metric, values, rows.groups, **draws)))
    lost = bootstrap_difference(scores["after"], scores["before"], rows.groups, **draws)
    return found | {"loss": estimate(lost.within(*LOSSES[params.metric])), "why_no_metric": None}


def _agree(before: Any, after: Any, tolerance: float) -> Any:
    import numpy as np

    from assay.scores import within

    if before.dtype.kind == "f" or after.dtype.kind == "f":
        return within(after, before, tolerance)
    return np.asarray(before == after, np.float64)


def _told_apart(
    inputs: Inputs, changes: list[Difference], chain: list[StepDifference]
) -> tuple[list[str], list[str]]:
    """Sort what differs from the reference: there when it worked, or come since.

    A step is old where what worked makes the same numbers, or runs the same code.
    """
    from stages.fingerprints import compare

    assert inputs.last_good is not None  # noqa: S101  stated
    before = compare(inputs.reference, inputs.last_good).differences
    then = {(one.topic, one.what, one.right) for one in before}
    old: list[str] = []
    new: list[str] = []
    for one in compare(inputs.reference, inputs.candidate).differences:
        (old if (one.topic, one.what, one.right) in then else new).append(one.what)
    equal = {step.step for step in chain if step.equal}
    changed = {one.what.split(",")[0] for one in changes if one.topic == "step"}
    parity = inputs.parity
    for own in parity.own if isinstance(parity, ParityReport) else []:
        what = f"step {own.step}"
        if own.equal or any(said.startswith(what) for said in (*old, *new)):
            continue
        (old if own.step in equal or what not in changed else new).append(f"{what}, its output")
    return old, new


def _summary(changes: list[Difference], known: dict[str, Any], words: "Metric") -> str:
    likely = [one.what for one in changes if one.weight == "numbers"]
    said = []
    if not changes:
        said.append("Nothing that is declared changed since it worked.")
    elif likely:
        said.append(f"Since it worked, what changes numbers: {', '.join(likely[:3])}.")
    else:
        said.append(f"Since it worked {len(changes)} facts changed, none of which must matter.")
    if known["first_differing_step"]:
        said.append(f"The first step with another output: `{known['first_differing_step']}`.")
    elif known["why_no_chain"] is None:
        said.append("Every step makes the same numbers as when it worked.")
    loss = known["loss"]
    if loss is not None:
        sure = "" if loss.low > 0 or loss.high < 0 else ", which may be nothing"
        moved = words.moves(loss.value)
        said.append(f"On the same rows it {moved} ({words.change(loss)}){sure}.")
    elif known["agreement"] is not None:
        share = percent(known["agreement"].value)
        said.append(f"Without labels: {share} of real rows get the same answer as before.")
    return " ".join(said)


STAGE = Stage(run, image="base")
