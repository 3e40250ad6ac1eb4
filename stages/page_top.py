"""The top of the page, for who was not there: how sure, what proves it, what is not known."""

from typing import Any

from stages.reports.diagnose import DiagnoseReport, Finding
from stages.reports.gate import GateReport
from stages.reports.page import Answer
from stages.reports.suspect import Ranked
from stages.stage import NOT_EXAMINED, NotApplicable

SHOWN = 5  # answers to "what broke"
UNLIKELY = 0.1  # below that an answer is not shown, unless it is among the first two
WORDS = (
    (0.9, "almost sure"),
    (0.7, "likely"),
    (0.4, "possible"),
    (0.15, "unlikely"),
    (0.0, "hardly"),
)
PROOFS = 2  # sentences of evidence beside what to do


def sure(confidence: float) -> str:
    """Say how sure an answer is.

    >>> sure(0.93), sure(0.5), sure(0.02)
    ('almost sure', 'possible', 'hardly')
    """
    return next(word for least, word in WORDS if confidence >= least)


def percent(confidence: float) -> str:
    """Write a confidence; nothing is wholly sure.

    >>> percent(0.999), percent(0.5), percent(0.001)
    ('> 99 %', '50 %', '< 1 %')
    """
    whole = round(100 * confidence)
    if whole > 99:  # noqa: PLR2004  see above
        return "> 99 %"
    return f"{whole} %" if whole else "< 1 %"


def answers(diagnosis: DiagnoseReport) -> list[dict[str, Any]]:
    """Return the likeliest answers to "what broke", each with its bar."""
    ranked = [
        one
        for at, one in enumerate(diagnosis.ranked)
        if not (one.another_name or _is_named(at, diagnosis.ranked))
    ]
    first = [
        one
        for at, one in enumerate(ranked[:SHOWN])
        if at < 2 or one.confidence >= UNLIKELY  # noqa: PLR2004  see UNLIKELY
    ]
    return [
        {
            "title": named(one, diagnosis),
            "component": one.component,
            "sure": sure(one.confidence),
            "percent": percent(one.confidence),
            "width": round(100 * one.confidence),
        }
        for one in first
    ]


def _is_named(at: int, ranked: list[Ranked]) -> bool:
    """Tell whether an unknown kind is one of a component for which a likelier kind has a name."""
    one = ranked[at]
    return one.kind == "unknown" and any(
        other.component == one.component for other in ranked[:at] if other.kind != "unknown"
    )


def named(one: Ranked, diagnosis: DiagnoseReport) -> str:
    """Name an answer: as the finding that it is, or by its component and kind."""
    for found in diagnosis.findings:
        if (found.component, found.kind) == (one.component, one.kind):
            return found.title
    if one.component == "none":
        return "Nothing broke"
    kind = one.kind.replace("_", " ").replace("+", ", then ")
    kind = "something that has no name here" if one.kind == "unknown" else kind
    return f"{one.component[0].upper()}{one.component[1:]}: {kind}"


def confidence_of(found: Finding, diagnosis: DiagnoseReport) -> dict[str, Any] | None:
    """Return how sure a finding is; None where nobody says."""
    for one in diagnosis.ranked:
        if (found.component, found.kind) == (one.component, one.kind):
            return {"word": sure(one.confidence), "percent": percent(one.confidence)}
    return None


def verdict_sure(diagnosis: DiagnoseReport) -> dict[str, Any] | None:
    """Return how sure the verdict is: that nothing broke where it says so, else its first cause."""
    first, lead = next(iter(diagnosis.ranked), None), leading(diagnosis)
    if diagnosis.nothing_shown and first is not None:
        told = {"word": sure(first.confidence), "percent": percent(first.confidence)}
        return told | {"title": named(first, diagnosis)}
    found = confidence_of(lead, diagnosis) if lead else None
    return found | {"title": lead.title} if lead and found else None


def leading(diagnosis: DiagnoseReport) -> Finding | None:
    """Return the cause that leads the verdict, if there is one."""
    causes = [found for found in diagnosis.findings if not found.harmless]
    deployed = [found for found in causes if found.component != "data" and not found.undecided]
    return next(iter(deployed or causes), None)


def proof(diagnosis: DiagnoseReport, gate: GateReport) -> list[str]:
    """Return what proves the verdict, in a few sentences."""
    lead = leading(diagnosis)
    if lead is None:
        passed = [one.name for one in gate.criteria if one.passed]
        return [f"Kept by the whole interval: {', '.join(passed)}."] if passed else []
    return lead.evidence[:PROOFS]


def silent(answer: Answer, section: str) -> str:
    """Say in a line why a section has nothing to tell; nothing where it has."""
    report = getattr(answer, section, None)
    if isinstance(report, NotApplicable):
        said = report.not_applicable
        left_out = said.startswith(NOT_EXAMINED)
        return f"{said[0].upper()}{said[1:]}" if left_out else f"Not applicable: {said}"
    own = _OWN.get(section)
    if own is not None:
        return own(report)
    suspects = getattr(report, "suspects", None)
    return "Nothing suspicious was found." if suspects == [] else ""


def _parity(report: Any) -> str:
    many = f"{len(report.chain)} steps on {len(report.rows)} samples"
    return f"Both sides agree step by step: {many}." if report.passed else ""


def _inputs(report: Any) -> str:
    some = any(one.differs for one in report.statistics)
    if some or not report.can_tell:
        return ""
    return f"None of {len(report.statistics)} figures of raw samples surely differs."


def _features(report: Any) -> str:
    if report.begins_at or not report.can_tell:
        return ""
    return "No examined layer tells simulation from reality."


def _environments(report: Any) -> str:
    weighty = [one for pair in report.pairs for one in pair.differences if one.weight != "unlikely"]
    return "" if weighty else "Nothing differs that may change numbers."


_OWN = {
    "parity": _parity,
    "inputs": _inputs,
    "features": _features,
    "environments": _environments,
}
