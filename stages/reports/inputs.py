"""How raw samples in simulation and in the field differ, figure by figure."""

from typing import Literal

from stages.stage import At, Estimate, NotApplicable, Report

INPUTS = At("artifacts/inputs/report.json")
STATISTICS = At("artifacts/inputs/statistics.csv")  # name,distance,effect,p_adjusted,mean_*
SUMMARY = At("artifacts/inputs/evidently.json")
"""Evidently's column summaries of a table: `sim` and `real` {metric: value}, `drift` {column:
method and score}; no threshold of it is taken as a verdict. `{}` where samples are no table."""

Kind = Literal["pictures", "signals", "table"]


class Histogram(Report):
    """Shares of the rows in bins of equal width; or, of words, by word."""

    edges: list[float]
    words: list[str]
    sim: list[float]
    real: list[float]


class Statistic(Report):
    """One figure of each sample."""

    name: str
    mean_sim: float | None  # None: words
    mean_real: float | None
    std_sim: float | None
    std_real: float | None
    effect: Estimate | None  # chance that a real value lies above a simulated one; 0.5: alike
    distance: float  # 0 alike, 1 apart: largest gap of the distributions, of words of the shares
    p_value: float  # whole groups dealt
    p_adjusted: float  # Benjamini-Yekutieli, over all figures
    differs: bool  # p_adjusted is at most alpha
    histogram: Histogram | None  # of the figures that differ most


class InputsReport(Report):
    """The figures, what differs surely and most first."""

    kind: Kind
    statistics: list[Statistic]
    num_sim: int
    num_real: int
    groups_sim: int
    groups_real: int
    alpha: float
    can_tell: bool  # False: so few groups that no p could reach alpha
    num_unreadable: int  # samples left out
    summary: bool  # whether Evidently's summary was written


InputsAnswer = InputsReport | NotApplicable
