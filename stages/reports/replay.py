"""Whether the reference reaches what was reported of it, and what validation owes to training."""

from stages.reports.suspect import Suspect
from stages.stage import At, Estimate, Report

REPLAY = At("artifacts/replay/report.json")


class Leakage(Report):
    """What validation and training have in common."""

    num_train: int
    num_validation: int
    num_exact: int  # validation rows that training holds, byte by byte
    num_near: int  # further rows whose nearest in training is nearer than training's own rows are
    num_shared_groups: int
    num_in_shared_groups: int  # validation rows of these groups
    rows: list[str]  # ids of some leaked rows; places where ids are private
    all_rows: Estimate | None  # the metric on validation
    without: Estimate | None  # without the leaked rows
    why_not_near: str | None = None  # near duplicates were not looked for
    why_not: str | None = None  # nothing was compared


class ReplayReport(Report):
    """The reference on validation, against the figure that was reported."""

    suspects: list[Suspect]
    reported: float | None
    reported_by: str | None  # training, case
    why_not_reported: str | None
    measured: Estimate | None
    reached: bool | None  # None: nobody reported a figure, or it is another one
    leakage: Leakage
