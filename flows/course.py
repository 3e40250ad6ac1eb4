"""In which order stages are worth their time, and which of them an answer can do without."""

import functools
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from flows.plan import AnyStage, catalog, upstream
from lineage.row import Row
from stages.stage import NotApplicable, is_report

FINAL = ("diagnose", "gate", "report")
"""What makes an answer of what is known: run last, whatever is missing."""

EARLY = ("parity",)
"""What costs little and decides the verdict most often: before all that it does not wait for."""

RELEASE = ("contract", "parity", "evaluate", "gate")
"""What a release is asked first, with all that they read: it decides whether the gate can open."""

DEAR = ("inputs", "features", "alter", "ask_altered", "field", "mitigate", "probe")
"""What takes the most CPU and is the least likely to change the verdict, the dearest last."""

RESERVED = 0.25
"""The share of a budget that is kept for stages that every answer needs: what can be left out and
stands before them has to end by then."""

Worth = Literal["final", "firm", "optional"]
"""Firm: its answer cannot be `NotApplicable`."""


class Course:
    """The order of a case's rows: what every answer needs, then what is cheap, then what is dear.

    Derived from the declarations: a stage whose answer may be `NotApplicable` can be left out, as
    its readers know what to make of none. Any other is needed if the answer reads it, or what the
    answer needs does; if only such stages read it as can be left out, it is left out with them.
    """

    def __init__(self, rows: Sequence[Row], *, release: bool = False) -> None:
        self.needs = upstream(tuple(rows))
        stages = {stage.name: stage for stage in catalog()}
        own = {row.name: stages[row.module.rpartition(".")[2]] for row in rows}
        self._worth = {name: worth(stage) for name, stage in own.items()}
        self._needed = self._closure()
        first = self._before(own) if release else frozenset()
        rank = {
            name: (name not in first, self._rank(name, own[name]), at)
            for at, name in enumerate(own)
        }
        self.order = tuple(sorted(own, key=lambda name: rank[name]))

    def _closure(self) -> frozenset[str]:
        found: set[str] = set()
        todo = [name for name in self._worth if self.is_final(name)]
        while todo:
            more = {need for need in self.needs[todo.pop()] if self._worth[need] == "firm"} - found
            found |= more
            todo += more
        return frozenset(found)

    def _before(self, own: Mapping[str, AnyStage]) -> frozenset[str]:
        """Return what a release needs first; what the gate reads of the diagnosis waits for all."""
        todo = [name for name, stage in own.items() if stage.name in RELEASE]
        found: set[str] = set()
        while todo:
            name = todo.pop()
            found |= set() if self.is_final(name) else {name}
            todo += [one for one in self.needs[name] if one not in found and not self.is_final(one)]
        return frozenset(found)

    def _rank(self, name: str, stage: AnyStage) -> int:
        if self._worth[name] == "final":
            return len(DEAR) + 3
        if stage.name in EARLY:
            return -1
        if self.is_needed(name) or self.stands_before_needed(name):
            return 0
        return 2 + DEAR.index(stage.name) if stage.name in DEAR else 1

    def is_final(self, name: str) -> bool:
        """Tell whether it makes the answer of what is known."""
        return self._worth[name] == "final"

    def is_optional(self, name: str) -> bool:
        """Tell whether there is an answer without it."""
        return self._worth[name] == "optional"

    def is_needed(self, name: str) -> bool:
        """Tell whether there is none without it."""
        return name in self._needed

    def stands_before_needed(self, name: str) -> bool:
        """Tell whether something that every answer needs waits for it."""
        return any(
            self.is_needed(other) or self.stands_before_needed(other)
            for other, needs in self.needs.items()
            if name in needs
        )

    def share(self, name: str) -> float:
        """Return the share of the budget at which a row has to have ended."""
        before = not self.is_needed(name) and self.stands_before_needed(name)
        return 1.0 - RESERVED if before else 1.0

    def ready(self, waiting: Collection[str], ended: Collection[str]) -> list[str]:
        """Return the waiting rows that can begin, the most valuable first."""
        return [
            name
            for name in self.order
            if name in waiting and all(need in ended for need in self.needs[name])
        ]


def worth(stage: AnyStage) -> Worth:
    """Tell what a stage is to an answer."""
    if stage.name in FINAL:
        return "final"
    return "optional" if reports_of(stage) else "firm"


@functools.cache
def reports_of(stage: AnyStage) -> tuple[str, ...]:
    """Return the reports of a stage if it may answer `NotApplicable`; none where it may not."""
    reports = [field for field in stage.outputs if is_report(field.type)]
    if not all(_may_be_none(field.type) for field in reports):
        return ()
    return tuple(field.name for field in reports)


def _may_be_none(kind: Any) -> bool:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return any(part is NotApplicable for part in typing.get_args(kind))
    return False
