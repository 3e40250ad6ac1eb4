"""What somebody reads who has two minutes and was not there."""

import re

import pytest
from planted_world import gap_in_features, report_inputs, scratch_wins

from stages.page_fold import parted, told
from stages.page_top import (
    confidence_of,
    leading,
    named,
    percent,
    proof,
    silent,
    sure,
    verdict_sure,
)
from stages.report import Inputs, PageParams, held_back, run
from stages.reports.gate import GateReport
from stages.reports.suspect import Ranked
from stages.stage import NotApplicable

FULL = {"real": 0.6, "steps": {"scale": (0.0, "scale"), "turn": (0.6, "transpose")}}
RANKED = [
    Ranked(component="preprocessing", kind="transpose", confidence=0.94),
    Ranked(component="data", kind="sim_to_real_gap", confidence=0.5),
    Ranked(component="model", kind="train_mode", confidence=0.05),
]


def made(tmp_path, *, partial="", ranked=RANKED, questions=("Who labelled them?",), **planted):
    tmp_path.mkdir(exist_ok=True)
    inputs = report_inputs(tmp_path, **planted)
    told_also = {"ranked": list(ranked), "questions": list(questions)}
    inputs["diagnose"] = inputs["diagnose"].model_copy(update=told_also)
    return run(PageParams(case="d", title="D", partial=partial), Inputs(**inputs), tmp_path)


def text_of(page: str) -> str:
    body = page.partition("</style>")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)).replace("&nbsp;", " ")


def test_who_was_not_there_reads_what_how_sure_what_to_do_and_what_is_not_known(tmp_path):
    text = text_of(made(tmp_path, **FULL).page)
    order = [
        "Gate closed",
        "How sure: almost sure , 94 %",
        "rows and columns exchanged",
        "What the gap is made of",
        "What to do now",
        "What proves it",
        "Causes",
        "possible, 50 %",
        "What was not examined",
        "Questions for the data owner",
        "Who labelled them?",
        "The evidence",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "train mode" not in text, "the third is too unlikely to be shown"


def test_without_confidences_or_questions_nothing_is_made_up(tmp_path):
    text = text_of(made(tmp_path, ranked=(), questions=(), **FULL).page)
    assert "How sure" not in text
    assert "Questions for" not in text


@pytest.mark.parametrize(
    ("confidence", "word", "share"),
    [(1.0, "almost sure", "> 99 %"), (0.7, "likely", "70 %"), (0.0, "hardly", "< 1 %")],
)
def test_how_sure_is_told_in_a_word_and_a_number(confidence, word, share):
    assert (sure(confidence), percent(confidence)) == (word, share)


def test_what_has_a_name_is_not_told_as_unknown_too(tmp_path):
    unknown = Ranked(component="preprocessing", kind="unknown", confidence=0.9)
    text = text_of(made(tmp_path, ranked=[RANKED[0], unknown, RANKED[1]], **FULL).page)
    assert "something that has no name here" not in text
    first = made(tmp_path / "b", ranked=[unknown, RANKED[1]], **FULL).page
    assert "Preprocessing: something that has no name here" in text_of(first)


def test_another_name_of_what_has_a_likelier_one_is_no_answer_of_its_own(tmp_path):
    other = Ranked(
        component="preprocessing", kind="colour_matrix", confidence=0.9, another_name=True
    )
    text = text_of(made(tmp_path, ranked=[RANKED[0], other, RANKED[1]], **FULL).page)
    assert "colour matrix" not in text


def test_an_answer_that_is_no_finding_is_named_by_its_kind(tmp_path):
    diagnosis = made(tmp_path, **FULL).answer.diagnose
    said = {
        ("none", "none"): "Nothing broke",
        ("model", "unknown"): "Model: something that has no name here",
        ("data", "dead_channel+blur"): "Data: dead channel, then blur",
    }
    for (component, kind), name in said.items():
        assert named(Ranked(component=component, kind=kind, confidence=0.1), diagnosis) == name
    lead = leading(diagnosis)
    assert lead.step == "turn"
    assert confidence_of(lead, diagnosis) == {"word": "almost sure", "percent": "94 %"}
    assert proof(diagnosis, made(tmp_path / "b", **FULL).answer.gate) == lead.evidence[:2]


def test_what_found_nothing_folds_and_says_so_in_its_line(tmp_path):
    page = made(tmp_path, **FULL).page
    quiet = page.partition('id="quiet"')[2].partition("</section>")[0]
    assert "Not applicable: The case names no layers." in quiet
    assert '<a href="#steps">' in page
    clean = made(tmp_path / "clean").page
    quiet = clean.partition('id="quiet"')[2].partition("</section>")[0]
    assert "Both sides agree step by step" in quiet
    assert "<details><summary>" in quiet


def test_every_link_of_the_contents_leads_somewhere(tmp_path):
    planted = FULL | {"features": gap_in_features(), "probe": scratch_wins(), "rich": True}
    page = made(tmp_path, **planted).page
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)


def test_a_part_of_its_own_has_a_row_of_its_own(tmp_path):
    from stages import plots

    diagnosis = made(tmp_path, **FULL).answer.diagnose
    model = next(part for part in diagnosis.parts if part.component == "model")
    others = [part for part in diagnosis.parts if part.component != "postprocessing"]
    both = diagnosis.model_copy(update={"parts": others})
    assert "model, postproc. " in plots.waterfall(both)
    own = model.model_copy(update={"component": "postprocessing"})
    apart = diagnosis.model_copy(update={"parts": [*others, own]})
    assert "model, postproc. " not in plots.waterfall(apart)
    assert "postprocessing " in plots.waterfall(apart)


def test_a_partial_answer_is_marked_and_never_opens_the_gate(tmp_path):
    cut = "The budget of 2h ran out, so probe was not examined"
    found = made(tmp_path, partial=cut, **FULL)
    assert found.answer.partial == cut
    text = text_of(found.page)
    assert "Partial answer" in text
    assert f"{cut}." in text
    opened = GateReport(verdict="open", criteria=[])
    kept = held_back(opened, cut)
    assert kept.verdict == "abstained"
    assert kept.because == f"a partial answer (t{cut[1:]})"
    assert (
        held_back(GateReport(verdict="closed", criteria=[], because="x"), cut).verdict == "closed"
    )


def test_what_there_was_no_time_for_is_one_line(tmp_path):
    answer = made(tmp_path, **FULL).answer
    left_out = NotApplicable(not_applicable="not examined: the budget of 2h ran out.")
    cut = answer.model_copy(update={"probe": left_out})
    assert silent(cut, "probe") == "Not examined: the budget of 2h ran out."


def test_a_section_without_a_heading_is_refused():
    with pytest.raises(ValueError, match="begins with"):
        told("<section>text</section>", "")
    one = told('<section aria-labelledby="a">\n<h2 id="a">A</h2><p>b</p>\n</section>', "Quiet.")
    assert "<section" not in one.html
    assert "h2" not in one.html
    assert parted([one]) == ([], [one])


def test_a_verdict_that_nothing_broke_is_as_sure_as_that(tmp_path):
    nothing = Ranked(component="none", kind="none", confidence=0.97)
    step = Ranked(component="preprocessing", kind="transpose", confidence=0.48)
    diagnosis = made(tmp_path, ranked=(nothing, step), **FULL).answer.diagnose
    diagnosis = diagnosis.model_copy(update={"nothing_shown": True})
    told = verdict_sure(diagnosis)
    assert told == {"word": "almost sure", "percent": "97 %", "title": "Nothing broke"}
    turned = diagnosis.model_copy(update={"ranked": [step, nothing], "nothing_shown": False})
    assert verdict_sure(turned)["percent"] == "48 %"
