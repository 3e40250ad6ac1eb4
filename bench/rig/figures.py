"""A measured number beside its target: its record, its file, its line in a table."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class Skipped(Exception):  # noqa: N818  reads as the fact that it is
    """A benchmark cannot be measured on this host; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The median of `n` measurements; `low` and `high` are the smallest and the largest."""

    figure: str
    value: float
    unit: str
    target: str | None = None  # "<= 0.3"; None: nothing was promised
    n: int = 1
    low: float | None = None
    high: float | None = None

    def is_met(self) -> bool | None:
        """Tell whether the value keeps its target; None without one."""
        if self.target is None:
            return None
        sign, _, bound = self.target.partition(" ")
        if sign not in {"<=", ">="}:
            raise ValueError(f"A target is `<= NUMBER` or `>= NUMBER`. Got: {self.target}.")
        return self.value <= float(bound) if sign == "<=" else self.value >= float(bound)


def median(figure: str, unit: str, values: Iterable[float], target: str | None = None) -> Figure:
    """Summarise repeated measurements."""
    found = list(values)
    return Figure(
        figure=figure,
        value=_rounded(statistics.median(found)),
        unit=unit,
        target=target,
        n=len(found),
        low=_rounded(min(found)),
        high=_rounded(max(found)),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")  # more digits than a clock on a shared machine can mean


def write(path: Path, machine: Mapping[str, Any], figures: Sequence[Figure]) -> None:
    """Write one benchmark's results."""
    content = {"machine": dict(machine), "figures": [asdict(figure) for figure in figures]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read(path: Path) -> list[Figure]:
    """Read one benchmark's results."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return [Figure(**figure) for figure in content["figures"]]


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as aligned lines, each beside its target."""
    head = ("figure", "value", "low..high", "n", "target", "")
    rows = [head, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def _row(figure: Figure) -> tuple[str, ...]:
    spread = "" if figure.low is None else f"{figure.low:g}..{figure.high:g}"
    met = {True: "met", False: "MISSED", None: ""}[figure.is_met()]
    value = f"{figure.value:g} {figure.unit}"
    return (figure.figure, value, spread, str(figure.n), figure.target or "", met)
