"""What is the whole answer, on one page that anybody can open?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from stages.reports.gate import GateReport
from stages.reports.page import ANSWER, PAGE, Answer
from stages.section import gathers
from stages.sections import SECTIONS
from stages.stage import FromCase, Params, Stage


class PageParams(Params):
    """What the case says of itself."""

    case: Annotated[str, FromCase("name")] = ""
    title: Annotated[str, FromCase("title")]
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"
    partial: Annotated[str, FromCase("partial")] = ""  # no key of a case: a run that is cut short
    # fills it in


@gathers(Answer, SECTIONS)
@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Every report of the answer, and what the sections' charts are drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The page for people, the answer for programs. Nothing in them tells when or where it ran."""

    page: Annotated[str, PAGE]
    answer: Annotated[Answer, ANSWER]


def run(params: PageParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Gather, draw, lay out. No sample is shown where the case says `pictures: none`."""
    from stages.page_view import lay_out

    given = {field.name: getattr(inputs, field.name) for field in STAGE.inputs}
    reports = {name: it for name, it in given.items() if name in Answer.model_fields}
    files = {name: it for name, it in given.items() if name not in reports}
    answer = Answer(case=params.case, title=params.title, partial=params.partial, **reports)
    if params.partial:
        answer = answer.model_copy(update={"gate": held_back(answer.gate, params.partial)})
    return Outputs(
        page=lay_out(answer, files, shows_samples=params.pictures == "full"), answer=answer
    )


def held_back(gate: GateReport, partial: str) -> GateReport:
    """Keep a gate from opening on an answer that was cut short, and say so."""
    why = f"a partial answer ({partial[0].lower()}{partial[1:]})"
    verdict = "abstained" if gate.verdict == "open" else gate.verdict
    because = f"{gate.because}; {why}" if gate.because else why
    return gate.model_copy(update={"verdict": verdict, "because": because})


STAGE = Stage(run, image="base", files=("stages/templates",))
