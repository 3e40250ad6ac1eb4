"""The answer in a chat: twelve lines at most, and nothing in them that a chat takes for markup."""

import json
from pathlib import Path

import pytest

from flows.chat import LONGEST, MOST_LINES, tell
from stages.reports.page import Answer
from stages.reports.suspect import Ranked

GOLDEN = Path(__file__).parents[1] / "stages/golden_report.json"


@pytest.fixture(scope="module")
def answer() -> Answer:
    found = Answer.model_validate(json.loads(GOLDEN.read_text(encoding="utf-8")))
    ranked = [Ranked(component="preprocessing", kind="transpose", confidence=0.94)]
    ranked.append(Ranked(component="data", kind="unknown", confidence=0.3))
    change = {"ranked": ranked, "questions": ["Who labelled them?"]}
    return found.model_copy(update={"diagnose": found.diagnose.model_copy(update=change)})


def test_twelve_lines_say_what_broke_how_sure_and_what_to_do(answer):
    lines = tell(answer, "/w/report.html", "text").splitlines()
    told = dict(line.split(": ", 1) for line in lines)
    assert len(lines) <= MOST_LINES
    assert "Gate closed" in told
    assert told["What broke"].startswith("Step turn: rows and columns exchanged")
    assert told["How sure"].startswith("almost sure, 94 %; next: The reference itself does worse")
    assert told["Restores service now"].startswith("Give the candidate the reference's step turn")
    assert "real, as deployed" in told["Figures"]
    assert told["Proves it"]
    assert told["Not examined"]
    assert told["To ask"] == "Who labelled them?"
    assert lines[-1] == "Page: /w/report.html"
    assert "`" not in "".join(lines)


def test_a_partial_answer_says_so_first(answer):
    why = "The budget of 2h ran out, so probe was not examined"
    lines = tell(answer.model_copy(update={"partial": why}), "/w/report.html", "text").splitlines()
    assert lines[1] == "Partial: The budget of 2h ran out, so probe was not examined."
    assert len(lines) <= MOST_LINES
    assert lines[-1] == "Page: /w/report.html"


def test_a_waiver_is_one_of_the_lines_and_escaped(answer):
    why = "The budget of 2h ran out, so probe was not examined"
    partial = answer.model_copy(update={"partial": why})
    lines = tell(partial, "p", "markdown", "until 2027-01-31 by *A* <b>: it must").splitlines()
    assert lines[1] == "*Waived*: until 2027-01-31 by \u2217A\u2217 &lt;b&gt;: it must"
    assert lines[2].startswith("*Partial*")
    assert len(lines) <= MOST_LINES


def test_markdown_is_bold_where_it_names_and_escaped_where_it_tells(answer):
    odd = answer.model_copy(update={"title": "A <b>\n\n& *c*"})
    text = tell(odd, "/w/report.html", "markdown")
    assert text.startswith("*Gate closed*: A &lt;b&gt; &amp; \u2217c\u2217")
    assert "*What broke*: Step `turn`" in text


def test_a_long_sentence_is_cut_between_words(answer):
    gate = answer.gate.model_copy(update={"because": "word " * 500})
    lines = tell(answer.model_copy(update={"gate": gate}), "p", "text").splitlines()
    assert max(map(len, lines)) <= LONGEST + 30


def test_without_a_cause_it_says_that_nothing_has_to_be_done(answer):
    quiet = {"findings": [], "actions": [], "ranked": [], "verdict": "No fault was found. More."}
    told = answer.model_copy(update={"diagnose": answer.diagnose.model_copy(update=quiet)})
    text = tell(told, "p", "text")
    assert "What broke: No fault was found." in text
    assert "Restores service now" not in text
