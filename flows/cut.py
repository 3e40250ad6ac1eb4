"""What a run leaves out for want of time or patience, and what stands in for it."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from flows.budget import Budget, clock
from flows.course import Course, reports_of
from flows.plan import catalog
from lineage.row import Row
from stages.stage import NOT_EXAMINED, At, NotApplicable, to_json


class NotInTime(Exception):  # noqa: N818  reads as the fact that it is
    """A run ended before there was an answer."""

    exit_status = 3


@dataclass(slots=True)
class Cut:
    """Decides what may begin and go on; knows what was left out, and what is not whole for that."""

    course: Course
    budget: Budget
    stopped: str = ""  # why a person ended the examination; "": nobody did
    left_out: dict[str, str] = field(default_factory=dict)  # row -> why
    apart: set[str] = field(default_factory=set)  # rows that ran on what is not whole
    _ends: dict[str, threading.Event] = field(default_factory=dict)

    def stop(self) -> None:
        """End the examination; what is running is told to at the next `tick`."""
        self.stopped = f"stopped after {clock(self.budget.passed_s)}"

    def why_over(self, name: str) -> str:
        """Say why a row may not begin or go on; nothing where it may."""
        if self.course.is_final(name):
            return ""
        if self.stopped:
            return self.stopped
        share = self.course.share(name)
        if self.budget.left_s(share) > 0:
            return ""
        kept = "" if share == 1 else ", of which a part is kept for what every answer needs"
        return f"the budget of {self.budget.text} ran out{kept}"

    def event(self, name: str) -> threading.Event:
        """Return what ends one row while it runs."""
        return self._ends.setdefault(name, threading.Event())

    def tick(self, running: Collection[str], cancelled: bool) -> None:
        """Tell those rows to end whose time is over; all of them once the run is cancelled."""
        for name in running:
            if cancelled or self.why_over(name):
                self.event(name).set()

    def blocked_by(self, name: str) -> str:
        """Say why something that a row reads is not there at all; nothing where all is there."""
        whys = (
            self.left_out[need]
            for need in self.course.needs[name]
            if need in self.left_out and not self.course.is_optional(need)
        )
        return next(whys, "")

    def is_touched(self, name: str) -> bool:
        """Tell whether something that a row reads is not whole."""
        return any(need in self.left_out or need in self.apart for need in self.course.needs[name])

    def partial(self) -> str:
        """Say why the answer is partial and what it lacks; nothing where it is whole."""
        why = next(iter(self.left_out.values()), "")
        return partly(why, self.left_out) if why else ""


def contents(row: Row, why: str) -> Mapping[str, str | None]:
    """Return what stands in for each output: a report that says why, else nothing at all.

    A stage's readers look at its report first, so that nobody opens the rest.
    """
    stage = next(it for it in catalog() if it.name == row.module.rpartition(".")[2])
    said = to_json(NotApplicable(not_applicable=f"{NOT_EXAMINED}: {why}."))
    found: dict[str, str | None] = {}
    for output in stage.outputs:
        if output.name in reports_of(stage):
            found[output.name] = said
        else:
            place = output.place
            is_file = isinstance(place, At) and "." in place.path.rpartition("/")[2]
            found[output.name] = "" if is_file else None
    return found


def partly(why: str, names: Collection[str]) -> str:
    """Say in one sentence that an answer is partial."""
    return f"{why[0].upper()}{why[1:]}, so {', '.join(names)} {_were(names)} not examined"


def no_answer(case: str, why: str, missing: Collection[str], budget: str = "") -> str:
    """Say that there is no answer, what it lacks, and how to go on: with more time, if stated."""
    first, *others = missing
    lacking = f"{first} and {len(others)} more" if others else first
    go_on = f"go on with more time: assay run {case} --budget {budget}"
    return (
        f"No answer yet: {why} before {lacking}, which every answer needs. What is finished is "
        f"kept; {go_on if budget else f'go on: assay run {case}'}"
    )


def _were(names: Collection[str]) -> str:
    return "was" if len(names) == 1 else "were"
