"""Figures in words: points, per cent and intervals, the same everywhere on the page."""

from typing import Protocol


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
    """Write the bounds, and the rows unless told."""
    n = f", n = {found.n}" if rows else ""
    return f"95 % CI {tenths(found.low)} to {tenths(found.high)}{n}"
