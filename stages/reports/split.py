"""Which samples serve which purpose."""

from stages.stage import At, Report

SPLIT = At("artifacts/split/report.json")
ROLES = At("artifacts/split/roles.csv")
"""Columns dataset,id,row,path,label,group,role. The order of the rows is the order of all tensors:
`sim` rows (role validation) first, then `real` rows (roles diagnose, fit, prove, unlabelled)."""


class SplitReport(Report):
    """How many rows and groups have which role; no group has two."""

    rows: dict[str, int]  # role -> rows
    groups: dict[str, int]  # role -> groups
    seed: int
    not_recorded: int = 0  # real rows that the recorded candidate does not hold: left out
