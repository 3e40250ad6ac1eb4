"""The whole answer on one page."""

from typing import Annotated

from stages.reports.contract import CONTRACT, ContractReport
from stages.reports.data import DATA, DataReport
from stages.reports.diagnose import DIAGNOSE, DiagnoseReport
from stages.reports.environments import ENVIRONMENTS, EnvironmentsReport
from stages.reports.evaluate import EVALUATE, EvaluateReport
from stages.reports.features import FEATURES, FeaturesAnswer
from stages.reports.field import FIELD, FieldAnswer
from stages.reports.gate import GATE, GateReport
from stages.reports.inputs import INPUTS, InputsAnswer
from stages.reports.mitigate import MITIGATE, MitigateAnswer
from stages.reports.parity import PARITY, ParityAnswer
from stages.reports.probe import PROBE, ProbeAnswer
from stages.reports.replay import REPLAY, ReplayReport
from stages.reports.runtime import RUNTIME, RuntimeAnswer
from stages.reports.since import SINCE, SinceAnswer
from stages.reports.split import SPLIT, SplitReport
from stages.reports.train import TRAIN, TrainReport
from stages.stage import At, NotApplicable, Report

PAGE = At("artifacts/report/report.html")
ANSWER = At("artifacts/report/report.json")
NOT_THERE = NotApplicable(not_applicable="An older report, of before this stage.")


class Answer(Report):
    """All reports of one run; what two runs are compared by.

    A field with a place is an input of the stage `report`: see `stages.section.gathers`.
    """

    case: str
    title: str
    partial: str = ""  # why it was cut short and what therefore was not examined; "": it is whole
    data: Annotated[DataReport, DATA]
    train: Annotated[TrainReport, TRAIN]
    contract: Annotated[ContractReport, CONTRACT]
    split: Annotated[SplitReport, SPLIT]
    replay: Annotated[ReplayReport | NotApplicable, REPLAY] = NOT_THERE
    parity: Annotated[ParityAnswer, PARITY]
    runtime: Annotated[RuntimeAnswer, RUNTIME] = NOT_THERE
    environments: Annotated[EnvironmentsReport, ENVIRONMENTS]
    inputs: Annotated[InputsAnswer, INPUTS]
    features: Annotated[FeaturesAnswer, FEATURES]
    field: Annotated[FieldAnswer, FIELD] = NOT_THERE
    probe: Annotated[ProbeAnswer, PROBE]
    evaluate: Annotated[EvaluateReport, EVALUATE]
    since: Annotated[SinceAnswer, SINCE]
    mitigate: Annotated[MitigateAnswer, MITIGATE] = NOT_THERE
    diagnose: Annotated[DiagnoseReport, DIAGNOSE]
    gate: Annotated[GateReport, GATE]
