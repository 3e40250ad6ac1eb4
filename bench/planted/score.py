"""From records to figures: what was right, how sure, and what it took."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.planted.kind import KINDS

Record = Mapping[str, Any]
SURE = 0.9
BINS = 10


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its Wilson interval (Wilson 1927)."""

    hits: int
    n: int

    @property
    def value(self) -> float:
        """The share; 0 of none."""
        return self.hits / self.n if self.n else 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % interval."""
        if not self.n:
            return 0.0, 1.0
        z, n, p = 1.959964, self.n, self.value
        middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
        return max(0.0, low), min(1.0, high)


def share(records: Iterable[Record], holds: Callable[[Record], bool]) -> Share:
    """Count for how many records something holds."""
    found = [holds(record) for record in records]
    return Share(sum(found), len(found))


def ranked(record: Record) -> list[tuple[str, str, float | None]]:
    """Return the answer's ranking."""
    return [(part, kind, sure) for part, kind, sure in record["answer"]["ranked"]]


def is_component(planted: Mapping[str, Any], component: str) -> bool:
    """Tell whether an answer's component is the planted one."""
    return component == planted["component"]


def is_kind(planted: Mapping[str, Any], component: str, kind: str) -> bool:
    """Tell whether an answer names what was planted: its component and its kind."""
    return is_component(planted, component) and KINDS[planted["kind"]].is_named(kind)


def component_right(record: Record) -> bool:
    """Tell whether the first answer's component is right."""
    return is_component(record["planted"][0], ranked(record)[0][0])


def kind_right(record: Record, among: int = 1) -> bool:
    """Tell whether the kind is among the first answers."""
    return any(is_kind(record["planted"][0], *one[:2]) for one in ranked(record)[:among])


def both_right(record: Record) -> bool:
    """Tell whether both faults are among the first three answers."""
    first = ranked(record)[:3]
    return all(any(is_kind(one, *said[:2]) for said in first) for one in record["planted"])


def both_components(record: Record) -> bool:
    """Tell whether both faults' components are among the first three answers."""
    parts = {said[0] for said in ranked(record)[:3]}
    return {one["component"] for one in record["planted"]} <= parts


def accused(record: Record) -> bool:
    """Tell whether something is blamed."""
    return bool(record["answer"]["accused"])


def first_step_right(record: Record) -> bool:
    """Tell whether the first differing step is the one that was changed."""
    return bool(record["answer"]["first_step"] == record["planted"][0]["step"])


def is_unknown(record: Record) -> bool:
    """Tell whether the planted kind has no explanation in the library."""
    return KINDS[record["planted"][0]["kind"]].names == {"unknown"}


def right(record: Record) -> bool:
    """Tell whether the whole first answer is right; of a healthy case: that nothing broke."""
    if record["group"] == "null":
        return not accused(record)
    return kind_right(record)


def calibration(records: Sequence[Record]) -> tuple[float | None, Share]:
    """Return the calibration error (bins of equal mass) and the precision where it is sure."""
    said = sorted((ranked(r)[0][2], right(r)) for r in records if ranked(r)[0][2] is not None)
    sure = [ok for level, ok in said if level is not None and level >= SURE]
    if not said:
        return None, Share(0, 0)
    size, error = -(-len(said) // BINS), 0.0
    for start in range(0, len(said), size):
        part = said[start : start + size]
        stated = sum(level or 0.0 for level, _ in part) / len(part)
        error += abs(stated - sum(ok for _, ok in part) / len(part)) * len(part) / len(said)
    return error, Share(sum(sure), len(sure))


def cost(record: Record) -> float:
    """Return the CPU seconds of a case."""
    return float(sum(record["cpu_s"].values()))


def of(records: Iterable[Record], group: str) -> list[Record]:
    """Return the records of a group that count and were examined."""
    return [r for r in records if r["group"] == group and r["counted"] and "answer" in r]
