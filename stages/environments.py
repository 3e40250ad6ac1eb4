"""What differs between the sides' environments, weights, models and code?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from stages.reports.collect import COLLECT, CollectReport
from stages.reports.environments import ENVIRONMENTS, EnvironmentsReport
from stages.stage import Params, Stage


class EnvironmentsParams(Params):
    """Nothing to turn: facts differ or they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Each side's facts."""

    reference: Annotated[CollectReport, COLLECT.of("reference")]
    candidate: Annotated[CollectReport, COLLECT.of("candidate")]
    last_good: Annotated[CollectReport | None, COLLECT.of("last_good")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The differences."""

    report: Annotated[EnvironmentsReport, ENVIRONMENTS]


def run(params: EnvironmentsParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Compare the reference and, where stated, what worked, each with the candidate."""
    from stages.fingerprints import compare

    pairs = [compare(inputs.reference, inputs.candidate)]
    if inputs.last_good is not None:
        pairs.append(compare(inputs.last_good, inputs.candidate))
    return Outputs(report=EnvironmentsReport(pairs=pairs))


STAGE = Stage(run, image="base")
