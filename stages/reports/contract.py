"""What the data was held to."""

from stages.stage import At, Report

CONTRACT = At("artifacts/contract/report.json")
LEFT_OUT = At("artifacts/contract/left_out.csv")  # columns dataset,id,reason


class Check(Report):
    """One expectation on one dataset."""

    dataset: str
    name: str  # Great Expectations' name of the expectation
    column: str | None
    says: str  # in plain words
    passed: bool
    observed: str
    num_breaches: int
    rows: list[str]  # the first breaching rows, at most 20: ids, or places where these are private


class ContractReport(Report):
    """All expectations, and the rows that no later stage sees."""

    checks: list[Check]
    rows: dict[str, int]  # dataset -> rows examined
    left_out: dict[str, int]  # dataset -> rows left out
    passed: bool
