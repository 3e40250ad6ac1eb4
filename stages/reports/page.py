"""The whole answer on one page."""

from stages.reports.contract import ContractReport
from stages.reports.data import DataReport
from stages.reports.diagnose import DiagnoseReport
from stages.reports.features import FeaturesAnswer
from stages.reports.gate import GateReport
from stages.reports.parity import ParityAnswer
from stages.reports.probe import ProbeAnswer
from stages.reports.split import SplitReport
from stages.reports.train import TrainReport
from stages.stage import At, Report

PAGE = At("artifacts/report/report.html")
ANSWER = At("artifacts/report/report.json")


class Answer(Report):
    """All reports of one run; what two runs are compared by."""

    case: str
    title: str
    data: DataReport
    train: TrainReport
    contract: ContractReport
    split: SplitReport
    parity: ParityAnswer
    features: FeaturesAnswer
    probe: ProbeAnswer
    diagnose: DiagnoseReport
    gate: GateReport
