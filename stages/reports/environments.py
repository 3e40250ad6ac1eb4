"""What differs between the sides beside the numbers that they make."""

from typing import Literal

from stages.stage import At, Report

ENVIRONMENTS = At("artifacts/environments/report.json")

Topic = Literal["package", "python", "platform", "weights", "precision", "model", "step"]
Weight = Literal["numbers", "perhaps", "unlikely"]
WEIGHTS: tuple[Weight, ...] = ("numbers", "perhaps", "unlikely")


class Difference(Report):
    """One thing that is not the same on two sides."""

    topic: Topic
    what: str  # numpy, python, weights, step decode, ...
    left: str | None  # None: it is not there, or not known
    right: str | None
    weight: Weight  # how likely it is that numbers change with it: known, not measured here


class Compared(Report):
    """Two sides, fact by fact."""

    left: str  # reference
    right: str  # candidate
    differences: list[Difference]  # what changes numbers first
    not_compared: list[str]  # what could not be compared, and why


class EnvironmentsReport(Report):
    """Pairs of sides: the reference and, where stated, what worked, each with the candidate."""

    pairs: list[Compared]
