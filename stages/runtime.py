"""Do both models compute the same of the same tensors, and both rules the same of the outputs?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from stages.reports.collect import COLLECT, CollectReport
from stages.reports.postprocess import POSTPROCESS, POSTPROCESSED, PostprocessReport
from stages.reports.predict import (
    INVARIANCE,
    LAYERS_READ,
    OUTPUTS,
    PREDICT,
    Invariance,
    PredictReport,
)
from stages.reports.runtime import RUNTIME, RUNTIME_LAYERS, RuntimeReport
from stages.reports.split import ROLES
from stages.stage import FromCase, MetricName, Needs, Params, Stage

if TYPE_CHECKING:
    from stages.runtime_facts import Layers


class RuntimeParams(Params):
    """When layers and answers count as equal."""

    tolerance: float = Field(default=1e-4, gt=0)  # of a layer's size: other kernels
    moves: float = Field(default=0.1, gt=0)  # of the rows' spread: another arrangement
    resamples: int = Field(default=2000, ge=1)
    seed: int = 0
    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    reference_layers: Annotated[list[str], FromCase("reference.layers")] = []  # noqa: RUF012  pydantic copies it
    candidate_layers: Annotated[list[str], FromCase("candidate.layers")] = []  # noqa: RUF012  pydantic copies it


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What both models did with the reference's tensors, and both rules with the outputs."""

    roles: Annotated[Path, ROLES]
    reference: Annotated[PredictReport, PREDICT.of("reference")]
    candidate: Annotated[PredictReport, PREDICT.of("candidate")]
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    reference_layers: Annotated[Path, LAYERS_READ.of("reference")]
    candidate_layers: Annotated[Path, LAYERS_READ.of("candidate")]
    reference_again: Annotated[Invariance, INVARIANCE.of("reference")]
    candidate_again: Annotated[Invariance, INVARIANCE.of("candidate")]
    reference_rule: Annotated[PostprocessReport, POSTPROCESS.of("reference")]
    candidate_rule: Annotated[PostprocessReport, POSTPROCESS.of("candidate")]
    reference_labels: Annotated[Path, POSTPROCESSED.of("reference")]
    candidate_labels: Annotated[Path, POSTPROCESSED.of("candidate")]
    reference_facts: Annotated[CollectReport, COLLECT.of("reference")]
    candidate_facts: Annotated[CollectReport, COLLECT.of("candidate")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The comparison, and the layers' errors as a table."""

    report: Annotated[RuntimeReport, RUNTIME]
    layers: Annotated[str, RUNTIME_LAYERS]


def run(params: RuntimeParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Compare layers, arrangements, weights, outputs and rules; suspect what they speak for."""
    from stages.runtime_facts import invariance, read_layers
    from stages.runtime_outputs import Answers
    from stages.runtime_weights import compare_weights

    layers = read_layers(
        (inputs.reference_layers, inputs.candidate_layers),
        (params.reference_layers, params.candidate_layers),
        params.tolerance,
    )
    sides = (
        invariance("reference", inputs.reference_again, params.moves),
        invariance("candidate", inputs.candidate_again, params.moves),
    )
    weights = compare_weights(inputs.reference_facts, inputs.candidate_facts)
    answers = Answers(inputs, params)
    rules = inputs.reference_rule.same_rule, inputs.candidate_rule.same_rule
    known = [one for one in rules if one is not None]
    first = next((pair.layer for pair in layers.pairs if not pair.equal), None)
    report = RuntimeReport(
        suspects=answers.suspects(layers, sides, weights),
        layers=layers.pairs,
        first_layer=first,
        why_no_layers=layers.why_not,
        invariance=list(sides),
        outputs=answers.pair,
        why_no_outputs=answers.why_not,
        weights=weights.state,
        weights_says=weights.says,
        same_postprocess=all(known) if known else None,
        tolerance=params.tolerance,
        rows=layers.rows,
    )
    return Outputs(report=report, layers=_csv(layers))


def _csv(layers: "Layers") -> str:
    lines = [
        f"{pair.layer},{pair.relative_error:.6g}"
        for pair in layers.pairs
        if pair.relative_error is not None
    ]
    return "\n".join(["layer,relative_error", *lines]) + "\n"


STAGE = Stage(run, image="base", needs=Needs(memory="2GiB"))
