"""Where do the two sides' preprocessing part ways, and what is the difference called?"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from stages.reports.parity import (
    ATOL,
    PARITY,
    RTOL,
    WORST,
    OwnDifference,
    ParityAnswer,
    ParityReport,
    Transform,
)
from stages.reports.preprocess import PREPROCESS, STEPS, PreprocessReport
from stages.reports.swap import SWAP, SWAP_STEPS, SwapAnswer, SwapReport
from stages.stage import FromCase, Needs, NotApplicable, Params, Stage

if TYPE_CHECKING:
    from assay.explain.proposal import Explainer, Explanation
    from stages.step_pairs import Pair, Rows


class ParityParams(Params):
    """When two outputs count as equal, and when a difference counts as explained."""

    atol: float = Field(default=ATOL, ge=0)  # in the units of each step's output
    rtol: float = Field(default=RTOL, ge=0)
    accept: float = Field(default=0.99, gt=0, le=1)  # share of the squared difference
    max_depth: int = Field(default=3, ge=1)  # transforms in a row
    num_pictures: int = Field(default=4, ge=1)
    columns: Annotated[list[str], FromCase("data.columns")] = []  # noqa: RUF012  pydantic copies it
    explainers: Annotated[list[str], FromCase("explainers")] = []  # noqa: RUF012  module:function
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Each step's output on both sides, and each differing step by itself."""

    reference: Annotated[PreprocessReport, PREPROCESS.of("reference")]
    candidate: Annotated[PreprocessReport, PREPROCESS.of("candidate")]
    reference_steps: Annotated[Path, STEPS.of("reference")]
    candidate_steps: Annotated[Path, STEPS.of("candidate")]
    swap: Annotated[SwapAnswer, SWAP]
    swap_steps: Annotated[Path, SWAP_STEPS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The comparison and its picture."""

    report: Annotated[ParityAnswer, PARITY]
    worst: Annotated[bytes, WORST]


def run(params: ParityParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Compare the chains slot by slot; name the difference that each step makes by itself."""
    from stages.own_explainers import explainer
    from stages.parity_picture import draw, say
    from stages.step_pairs import chain, isolated

    ids = inputs.reference.paired
    if inputs.candidate.why_not:
        reason = inputs.candidate.why_not
        return Outputs(report=NotApplicable(not_applicable=reason), worst=say(reason))
    if not ids or ids != inputs.candidate.paired:
        reason = "There are no rows to pair: no real row has the role diagnose or unlabelled."
        return Outputs(report=NotApplicable(not_applicable=reason), worst=say(reason))
    pairs = chain(
        (inputs.reference, inputs.candidate),
        (inputs.reference_steps, inputs.candidate_steps),
        inputs.swap_steps,
    )
    names = ids if params.pictures == "full" else [f"pair {at}" for at in range(len(ids))]
    found = [pair.difference(params.atol, params.rtol) for pair in pairs]
    first = next((i for i, (step, _) in enumerate(found) if not step.equal), None)
    # Up to the first difference both sides had the same input: the chain itself isolates that step.
    own = {} if first is None else {pairs[first].key: pairs[first]}
    # What the reference has before a step is what both sides' step was given.
    given = {after.key: before.reference for before, after in pairwise(pairs)}
    for step in inputs.swap.steps if isinstance(inputs.swap, SwapReport) else []:
        alone = isolated(inputs.swap_steps, step.key, step.name)
        own |= {} if alone is None else {step.key: alone}
    more = [explainer(call, at) for at, call in enumerate(params.explainers)]
    worst = [] if first is None else found[first][1][: params.num_pictures]
    report = ParityReport(
        chain=[step for step, _ in found],
        first_differing_step=None if first is None else pairs[first].step,
        own=[_own(own[key], params, more, given.get(key)) for key in sorted(own)],
        passed=first is None,
        atol=params.atol,
        rtol=params.rtol,
        rows=names,
        worst=[names[row] for row in worst],
    )
    if first is None:
        picture = say(f"The sides' outputs are equal at every step, on {len(ids)} paired samples.")
    elif params.pictures == "none":
        picture = say("pictures: none in case.yaml: no sample is drawn.")
    else:
        picture = draw(pairs[first], worst, names)
    return Outputs(report=report, worst=picture)


def _own(
    pair: "Pair", params: ParityParams, more: list["Explainer"], given: "Rows | None"
) -> OwnDifference:
    from assay.explain.library import explain

    difference, _ = pair.difference(params.atol, params.rtol)
    transform = None
    if not difference.equal:
        found = explain(
            pair.reference,
            pair.candidate,
            max_depth=params.max_depth,
            accept=params.accept,
            names=params.columns,
            more=more,
            source=given,
        )
        transform = None if found is None else _transform(found)
    return OwnDifference(
        key=pair.key,
        step=pair.step,
        transform=transform,
        equal=difference.equal,
        max_abs=difference.max_abs,
    )


def _transform(found: "Explanation") -> Transform:
    return Transform(
        kind=found.kind,
        name=found.name,
        parameters=dict(found.parameters),
        explained=found.residual_explained,
        alternatives=list(found.alternatives),
    )


STAGE = Stage(run, image="base", needs=Needs(memory="2GiB"))
