"""What the examining stages suspect, gathered in one list for the ranking."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from stages.reports.suspect import Suspect
from stages.stage import Estimate, NotApplicable

if TYPE_CHECKING:
    from assay.causes import Suspected
    from assay.intervals import Interval


class Suspecting(Protocol):
    """A report that says what its stage suspects."""

    @property
    def suspects(self) -> list[Suspect]:
        """In the stage's own order."""


def gathered(*answers: Suspecting | NotApplicable | None) -> list[Suspect]:
    """Put the suspects of all stages one after another, those that could not answer left out."""
    return list(_each(answers))


def unexamined(answers: Mapping[str, Suspecting | NotApplicable | None]) -> list[str]:
    """Say of each question that has no answer why."""
    return [
        f"{what}: {'not examined' if answer is None else answer.not_applicable.rstrip('.')}."
        for what, answer in answers.items()
        if answer is None or isinstance(answer, NotApplicable)
    ]


def _each(answers: Sequence[Suspecting | NotApplicable | None]) -> Iterator[Suspect]:
    for answer in answers:
        if answer is not None and not isinstance(answer, NotApplicable):
            yield from answer.suspects


def suspected(suspects: Sequence[Suspect]) -> "list[Suspected]":
    """Reduce them to what a ranking may rest on: no words."""
    from assay.causes import Suspected

    return [
        Suspected(
            at=at,
            component=one.component,
            kind=one.kind,
            cost=None if one.cost is None else _interval(one.cost),
            p_value=one.p_value,
            explained=one.explained,
            other_kinds=tuple(one.other_kinds),
        )
        for at, one in enumerate(suspects)
    ]


def _interval(found: Estimate) -> "Interval":
    from assay.intervals import Interval

    return Interval(
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        resampled=None if found.groups is None else "groups",
        num_units=found.groups,
    )
