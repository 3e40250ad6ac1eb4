"""How long a run may take, in which order it spends that, and what stands in for the rest."""

import json
import time
from pathlib import Path

import pytest

from flows.budget import Budget, clock, seconds, stated
from flows.case import load_case
from flows.course import DEAR, FINAL, Course
from flows.cut import Cut, contents, no_answer, partly
from flows.plan import named, plan

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    return plan(load_case(ROOT, "digits"))


@pytest.fixture
def cut(rows) -> Cut:
    return Cut(Course(rows), Budget("100s"))


def passed(cut: Cut, taken_s: float) -> Cut:
    cut.budget.started = time.monotonic() - taken_s
    return cut


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("10m", 600), ("2h", 7200), (" 2 h ", 7200)]
)
def test_a_budget_is_a_number_and_a_unit(text, expected):
    assert seconds(text) == expected
    assert stated(text) == text.replace(" ", "")


@pytest.mark.parametrize("text", ["", "2", "2d", "-1h", "1.5h", "0m", "two hours", "1h30m"])
def test_what_is_no_budget_is_told_how_one_is_written(text):
    with pytest.raises(ValueError, match="90s, 10m or 2h"):
        stated(text)


def test_a_clock_shows_hours_only_once_there_are_some():
    assert [clock(s) for s in (0.9, 61, 3599, 3600)] == ["0:00", "1:01", "59:59", "1:00:00"]


def test_what_every_answer_needs_comes_first_and_what_is_dear_last(rows):
    course = Course(rows)
    order = list(course.order)
    assert order[-3:] == list(FINAL)
    dear = [name for name in order if name in DEAR]
    assert dear[-1] == "probe"
    assert order[-3 - len(dear) : -3] == dear
    needed = max(order.index(name) for name in order if course.is_needed(name))
    assert all(order.index(name) > needed for name in dear if not course.stands_before_needed(name))


def test_only_what_may_answer_not_applicable_can_be_left_out(rows):
    course = Course(rows)
    optional = {name for name in course.order if course.is_optional(name)}
    assert {"parity", "swap", "features", "probe", "inputs", "since"} <= optional
    assert not {"data", "contract", "split", "predict-reference", "diagnose"} & optional


def test_a_row_is_ready_once_all_that_it_reads_has_ended(rows):
    course = Course(rows)
    assert course.ready(course.order, ()) == [
        name for name in course.order if not course.needs[name]
    ]
    good = [name for name in course.order if name not in FINAL]
    assert course.ready(FINAL, good) == ["diagnose"]


def test_what_needed_rows_wait_for_has_to_end_before_the_rest(cut):
    passed(cut, 80)
    assert "a part is kept for what every answer needs" in cut.why_over("swap")
    assert cut.why_over("predict-reference") == ""
    assert cut.why_over("probe") == ""
    passed(cut, 101)
    assert cut.why_over("probe") == "the budget of 100s ran out"
    assert cut.why_over("predict-reference") == "the budget of 100s ran out"
    assert [cut.why_over(name) for name in FINAL] == ["", "", ""]


def test_who_stops_gets_the_verdict_and_who_cancels_does_not(cut):
    running = ("probe", "diagnose")
    cut.tick(running, cancelled=False)
    assert not cut.event("probe").is_set()
    cut.stop()
    cut.tick(running, cancelled=False)
    assert (cut.event("probe").is_set(), cut.event("diagnose").is_set()) == (True, False)
    cut.tick(running, cancelled=True)
    assert cut.event("diagnose").is_set()


def test_what_reads_a_stand_in_is_not_whole_nor_is_what_reads_that(cut):
    cut.left_out["probe"] = "the budget of 2h ran out"
    assert (cut.is_touched("diagnose"), cut.is_touched("predict-reference")) == (True, False)
    assert not cut.is_touched("gate")
    cut.apart.add("diagnose")
    assert cut.is_touched("gate")
    assert cut.partial() == "The budget of 2h ran out, so probe was not examined"


def test_what_only_serves_what_can_be_left_out_is_left_out_with_it(cut):
    """`ask_altered` must answer, but only `field` reads that."""
    course = cut.course
    assert not course.is_optional("ask_altered")
    assert not course.is_needed("ask_altered")
    assert cut.blocked_by("field") == ""
    cut.left_out["ask_altered"] = "the budget of 2h ran out"
    assert cut.blocked_by("field") == "the budget of 2h ran out"


def test_each_output_gets_a_stand_in(rows):
    found = contents(named(rows, "features"), "stopped after 0:10")
    said = json.loads(found.pop("report"))
    assert said["not_applicable"] == "not examined: stopped after 0:10."
    assert set(found.values()) <= {"", None}
    assert contents(named(rows, "swap"), "x")["tensors"] is None


def test_no_answer_says_what_it_lacks_and_how_to_go_on():
    said = no_answer("digits", "the budget of 9s ran out", ["train", "split"], "2h")
    assert "before train and 1 more, which every answer needs" in said
    assert "assay run digits --budget 2h" in said
    assert no_answer("digits", "stopped", ["train"]).endswith("go on: assay run digits")
    assert partly("stopped", ["a", "b"]) == "Stopped, so a, b were not examined"
