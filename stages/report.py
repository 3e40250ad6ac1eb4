"""What is the whole answer, on one page that anybody can open?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from stages.reports.contract import CONTRACT, ContractReport
from stages.reports.data import DATA, DataReport
from stages.reports.diagnose import DIAGNOSE, DiagnoseReport
from stages.reports.features import FEATURES, PROJECTION, FeaturesAnswer
from stages.reports.gate import GATE, GateReport
from stages.reports.page import ANSWER, PAGE, Answer
from stages.reports.parity import PARITY, WORST, ParityAnswer, ParityReport
from stages.reports.predict import OUTPUTS
from stages.reports.probe import PROBE, ProbeAnswer
from stages.reports.split import ROLES, SPLIT, SplitReport
from stages.reports.train import TRAIN, TrainReport
from stages.stage import FromCase, Params, Stage, Task, is_report


class PageParams(Params):
    """What the case says of itself."""

    case: Annotated[str, FromCase("name")] = ""
    title: Annotated[str, FromCase("title")]
    task: Annotated[Task, FromCase("task")] = "classification"
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Every report, and what the charts are drawn from."""

    data: Annotated[DataReport, DATA]
    train: Annotated[TrainReport, TRAIN]
    contract: Annotated[ContractReport, CONTRACT]
    split: Annotated[SplitReport, SPLIT]
    parity: Annotated[ParityAnswer, PARITY]
    features: Annotated[FeaturesAnswer, FEATURES]
    probe: Annotated[ProbeAnswer, PROBE]
    diagnose: Annotated[DiagnoseReport, DIAGNOSE]
    gate: Annotated[GateReport, GATE]
    roles: Annotated[Path, ROLES]
    reference_outputs: Annotated[Path, OUTPUTS.of("reference")]
    candidate_outputs: Annotated[Path, OUTPUTS.of("candidate")]
    projection: Annotated[Path, PROJECTION]
    worst: Annotated[Path, WORST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The page for people, the answer for programs. Nothing in them tells when or where it ran."""

    page: Annotated[str, PAGE]
    answer: Annotated[Answer, ANSWER]


def run(params: PageParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Gather, draw, lay out. No sample is shown where the case says `pictures: none`."""
    from stages.answers import Side, rows_of
    from stages.page_view import confusion, draw, lay_out

    reports = {
        field.name: getattr(inputs, field.name) for field in STAGE.inputs if is_report(field.type)
    }
    answer = Answer(case=params.case, title=params.title, **reports)
    rows = rows_of(inputs.roles, "real", "diagnose", task=params.task)
    said = {
        "reference": Side(inputs.reference_outputs).labels("real-reference", rows),
        "candidate": Side(inputs.candidate_outputs).labels("real-candidate", rows),
    }
    confusions = {
        side: confusion(rows, given)
        for side, given in said.items()
        if len(rows) and given is not None and params.task == "classification"
    }
    broken = isinstance(inputs.parity, ParityReport) and not inputs.parity.passed
    shown = inputs.worst.read_bytes() if broken and params.pictures == "full" else None
    page = lay_out(answer, draw(answer, confusions, inputs.projection), shown)
    return Outputs(page=page, answer=answer)


STAGE = Stage(run, image="base", files=("stages/templates",))
