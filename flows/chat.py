"""An answer in a few lines, for a chat: what broke, how sure, what to do now, what is not known."""

from collections.abc import Iterator
from typing import Literal

from flows.shown_text import for_terminal
from stages.metric import Metric
from stages.page_top import answers, leading, proof, verdict_sure
from stages.page_view import first_sentence
from stages.reports.page import Answer

Form = Literal["text", "markdown"]
MOST_LINES = 12
SHOWN = 3  # of what was not examined
STAR = "\u2217"  # looks like the asterisk that would begin bold text
TYING = "\u2060"  # joins words, unseen: behind it `@` calls nobody, and `://` opens nothing
LONGEST = 300  # of a line, in letters


def tell(answer: Answer, page: str, form: Form, waived: str = "") -> str:
    """Write at most twelve lines; `markdown` is Slack's, which most chats show as well.

    Args:
        answer: what a run found.
        page: where its page is.
        form: for whom.
        waived: until when, by whom and why its gate is; nothing where it is not.
    """
    lines = [f"{_bold('Gate ' + answer.gate.verdict, form)}: {_clean(_inert(answer.title), form)}"]
    for name, said in (*([("Waived", waived)] if waived else []), *_said(answer)):
        lines.append(f"{_bold(name, form)}: {_clean(_inert(said), form)}")
    return "\n".join([*lines[: MOST_LINES - 1], f"{_bold('Page', form)}: {_clean(page, form)}"])


def _said(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield what is told, the most urgent first."""
    diagnosis, gate = answer.diagnose, answer.gate
    lead = leading(diagnosis)
    if answer.partial:
        yield "Partial", f"{answer.partial}."
    yield "What broke", first_sentence(diagnosis.verdict)[0]
    likely, sure = answers(diagnosis), verdict_sure(diagnosis)
    if sure is not None:
        yield "How sure", f"{sure['word']}, {sure['percent']}{_next(likely, sure['title'])}"
    elif likely:
        yield "How sure", f"{likely[0]['title']}: {likely[0]['sure']}, {likely[0]['percent']}"
    elif lead is not None:
        yield "How sure", f"{lead.strength} evidence"
    yield "Figures", _levels(answer)
    for at, action in enumerate(diagnosis.actions[:2]):
        yield ("Then" if at else "Restores service now"), action
    for evidence in proof(diagnosis, gate)[:1]:
        yield "Proves it", evidence
    if gate.because:
        yield "Gate", gate.because
    yield "Not examined", _few(diagnosis.not_examined)
    for question in diagnosis.questions[:1]:
        yield "To ask", question


def _next(likely: list[dict[str, str]], title: str) -> str:
    others = [one for one in likely if one["title"] != title]
    return f"; next: {others[0]['title']}, {others[0]['percent']}" if others else ""


def _levels(answer: Answer) -> str:
    diagnosis = answer.diagnose
    return "; ".join(
        f"{level.name} {Metric(level.measured, diagnosis.unit).level(level.metric.value)}"
        for level in diagnosis.levels
    )


def _few(said: list[str]) -> str:
    """Name the first; the page lists all."""
    heads = [one.partition(":")[0].rstrip(".") for one in said[:SHOWN]]
    more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return f"{'; '.join(heads)}{more}" if heads else "nothing was left out"


def _short(text: str) -> str:
    """Cut a long line between words.

    >>> _short("a" * 10), len(_short("word " * 200)) <= LONGEST
    ('aaaaaaaaaa', True)
    """
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2].rpartition(' ')[0]} …"


def _inert(text: str) -> str:
    """Shorten what is told, and let it call no one and lead nowhere: only the page is a link.

    >>> _inert("by @here, http://a").replace(TYING, "|")
    'by @|here, http:|//a'
    """
    said = for_terminal(_short(text))
    return said.replace("@", f"@{TYING}").replace("://", f":{TYING}//")


def _bold(text: str, form: Form) -> str:
    return f"*{text}*" if form == "markdown" else text


def _clean(text: str, form: Form) -> str:
    """Escape what a chat would take for markup; plain text has no backticks."""
    if form == "text":
        return text.replace("`", "")
    for sign, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("*", STAR)):
        text = text.replace(sign, code)
    return text
