"""A part of the page: one stage's answer, told by one template and one function."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from stages.stage import At, Report

Files = Mapping[str, Path]
Record = TypeVar("Record", bound=type)


@dataclass(frozen=True, slots=True)
class Section:
    """A section: `view` gives the words and charts to `templates/sections/<name>.html.j2`.

    `view(answer, files, shows_samples)` returns nothing (None) where the section has nothing to
    say; heavy imports stand inside it, as planning imports every section.
    """

    name: str
    view: Callable[[Any, Files, bool], Mapping[str, Any] | None]
    files: Mapping[str, At] = field(default_factory=dict)  # what its charts are drawn from


def gathers(answer: type[Report], sections: tuple[Section, ...]) -> Callable[[Record], Record]:
    """Give a stage's record of inputs a field for each report of the answer and each file.

    A field of the answer that names its place (`Annotated[..., AT]`) is read from there. So a new
    report is a line of the answer, and nothing else has to be told.
    """
    hints = get_type_hints(answer, include_extras=True)
    reports = [
        (name, hint)
        for name, hint in hints.items()
        if any(isinstance(mark, At) for mark in getattr(hint, "__metadata__", ()))
    ]
    files = {name: place for section in sections for name, place in section.files.items()}
    places: list[tuple[str, Any]] = [(name, Annotated[Path, at]) for name, at in files.items()]

    def gather(record: Record) -> Record:
        made: Any = dataclasses.make_dataclass(
            record.__name__, [*reports, *places], bases=(record,), frozen=True, kw_only=True
        )
        made.__module__, made.__doc__ = record.__module__, record.__doc__
        return made  # type: ignore[no-any-return]

    return gather
