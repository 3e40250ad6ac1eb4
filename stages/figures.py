"""Figures in words: points, per cent and intervals, the same everywhere on the page."""

from typing import Protocol

from stages.stage import Estimate


class Bounded(Protocol):
    """A figure with its interval."""

    @property
    def value(self) -> float:
        """The figure."""

    @property
    def low(self) -> float:
        """Its lower bound."""

    @property
    def high(self) -> float:
        """Its upper bound."""

    @property
    def n(self) -> int:
        """The rows that it rests on."""

    @property
    def groups(self) -> int | None:
        """The groups that they came in; None where rows count one by one."""


def estimate(found: Bounded) -> Estimate:
    """Take over a figure into a report."""
    return Estimate(
        value=found.value, low=found.low, high=found.high, n=found.n, groups=found.groups
    )


def turned(found: Bounded) -> Estimate:
    """Turn a loss so that the figure stands without its sign, and the interval with the figure.

    >>> turned(Estimate(value=-0.009, low=-0.066, high=0.064, n=9)).low
    -0.064
    """
    if found.value >= 0:
        return estimate(found)
    ends = {"value": -found.value, "low": -found.high, "high": -found.low}
    return estimate(found).model_copy(update=ends)


def tenths(share: float, *, sign: bool = False) -> str:
    """Write a share or a difference of shares in per cent, with a true minus and no minus zero.

    >>> tenths(0.4519), tenths(-0.0001), tenths(0.05, sign=True)
    ('45.2', '0.0', '+5.0')
    """
    rounded = round(100 * share, 1)
    if rounded == 0:
        return "0.0"
    return f"{rounded:{'+' if sign else ''}.1f}".replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.4519)
    '45.2 %'
    """
    return f"{tenths(share)} %"


def points(loss: float) -> str:
    """Write a difference of shares without its sign.

    >>> points(-0.349)
    '34.9 points'
    """
    return f"{tenths(abs(loss))} points"


def interval(found: Bounded, *, rows: bool = True) -> str:
    """Write the bounds, and what they rest on unless told."""
    n = f", {counted(found.n, found.groups)}" if rows else ""
    return f"95 % CI {tenths(found.low)} to {tenths(found.high)}{n}"


def counted(rows: int, groups: int | None) -> str:
    """Write how many rows, and in how many groups.

    >>> counted(641, 5), counted(641, None)
    ('n = 641 in 5 groups', 'n = 641')
    """
    return f"n = {rows}" + (f" in {groups} groups" if groups else "")
