import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from planted_world import gap_in_features, report_inputs, scratch_wins

from stages.report import Inputs, PageParams, run
from stages.reports.environments import Difference, EnvironmentsReport
from stages.reports.evaluate import EvaluateReport, Unlabelled
from stages.sections import evaluate
from stages.stage import to_json

GOLDEN = Path(__file__).parent / "golden_report.json"
CANARY = "<script>alert('x')</script><img src=x onerror=\"y\">$font: 1px#101010"
FULL = {"real": 0.6, "steps": {"scale": (0.0, "scale"), "turn": (0.6, "transpose")}}
WITH_DATA = FULL | {"features": gap_in_features(), "probe": scratch_wins(), "rich": True}


def reported(tmp_path, *, pictures="full", title="Digits", change=None, **planted):
    inputs = report_inputs(tmp_path, **planted)
    if change is not None:
        inputs = change(inputs)
    params = PageParams(case="digits", title=title, pictures=pictures)
    return run(params, Inputs(**inputs), tmp_path)


def test_the_answer_is_as_reviewed(tmp_path):
    """Review its diff like code; write it anew by deleting the file and running this test."""
    found = to_json(unfitted(reported(tmp_path, rows=90, **FULL).answer))
    if not GOLDEN.exists():
        GOLDEN.write_text(found, encoding="utf-8")
    reviewed = GOLDEN.read_text(encoding="utf-8")
    assert on_any_processor(found) == on_any_processor(reviewed)


def on_any_processor(text):
    """Read JSON without the last digits, in which processors differ."""
    return json.loads(text, parse_float=lambda number: float(f"{float(number):.9g}"))


def unfitted(answer):
    """Leave out what changes whenever confidences are fitted to other planted cases."""
    told = answer.diagnose
    findings = [found.model_copy(update={"confidence": None}) for found in told.findings]
    return answer.model_copy(
        update={"diagnose": told.model_copy(update={"findings": findings, "ranked": []})}
    )


def test_the_same_inputs_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = reported(tmp_path / "one", **WITH_DATA)
    two = reported(tmp_path / "two", **WITH_DATA)
    assert one.page == two.page
    assert to_json(one.answer) == to_json(two.answer)


def test_the_page_says_what_broke_and_what_to_do(tmp_path):
    page = reported(tmp_path, **WITH_DATA).page
    for words in (
        "Gate closed",
        "<code>turn</code>: rows and columns exchanged",
        "Give the candidate the reference&#39;s step",
        "Harmless differences",
        "real_17, real_230, real_411",
        "What was not examined",
    ):
        assert words in page


def test_every_chart_is_drawn_in_the_page_colours(tmp_path):
    page = reported(tmp_path, **WITH_DATA).page
    assert page.count('role="img"') >= 11
    charts = "".join(re.findall(r"<svg [^>]*role=\"img\".*?</svg>", page, re.DOTALL))
    assert "var(--ink)" in charts
    assert not re.findall(r"#[0-9a-f]{6}", charts)


def test_ids_of_charts_do_not_clash(tmp_path):
    ids = re.findall(r' id="([^"]*)"', reported(tmp_path, **WITH_DATA).page)
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_and_no_script_runs(tmp_path):
    page = reported(tmp_path, **WITH_DATA).page
    assert "default-src 'none'" in page
    assert "<script" not in page
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(link.startswith(("data:", "#")) for link in links)
    assert not re.findall(r"url\((?!#)", page)


def poisoned(inputs):
    """Put a canary into every string that a case, a file or a model may choose."""
    chain = [step.model_copy(update={"step": CANARY}) for step in inputs["parity"].chain]
    change = {"chain": chain, "worst": [CANARY], "first_differing_step": CANARY}
    inputs["parity"] = inputs["parity"].model_copy(update=change)
    checks = [
        check.model_copy(update={"rows": [CANARY], "observed": CANARY, "says": CANARY})
        for check in inputs["contract"].checks
    ]
    inputs["contract"] = inputs["contract"].model_copy(update={"checks": checks})
    layers = [gap.model_copy(update={"layer": CANARY}) for gap in inputs["features"].layers]
    change = {"layers": layers, "begins_at": CANARY, "projected_layer": CANARY}
    inputs["features"] = inputs["features"].model_copy(update=change)
    findings = [
        finding.model_copy(update={"title": f"`{CANARY}`", "action": CANARY, "evidence": [CANARY]})
        for finding in inputs["diagnose"].findings
    ]
    change = {"findings": findings, "verdict": CANARY, "not_examined": [CANARY]}
    inputs["diagnose"] = inputs["diagnose"].model_copy(update=change)
    inputs["train"] = inputs["train"].model_copy(update={"files": {CANARY: CANARY}})
    return inputs


def test_strings_of_a_case_stay_text(tmp_path):
    page = reported(tmp_path, title=CANARY, change=poisoned, **WITH_DATA).page
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "onerror=" in page.replace("&#34;", '"')  # it is there, as text
    assert page.count("<svg") == page.count("</svg>")


def test_other_code_is_no_other_number(tmp_path):
    steps = [
        {"step": "load", "equal": True},
        {"step": "crop", "equal": True},
        {"step": "turn", "equal": False},
        {"step": "scale", "equal": False},
    ]

    def change(inputs):
        parity, [pair] = inputs["parity"], inputs["environments"].pairs
        chain = [parity.chain[0].model_copy(update=step) for step in steps]
        own = [one for one in parity.own if one.step == "turn"]
        told = {"chain": chain, "own": own, "first_differing_step": "turn"}
        inputs["parity"] = parity.model_copy(update=told)
        say = partial(Difference, topic="step", left="a:b", right="c:d", weight="numbers")
        what = ["step load", "step crop, its arguments", "step turn, its code", "step scale"]
        more = [say(what=one) for one in what]
        pairs = [pair.model_copy(update={"differences": [*pair.differences, *more]})]
        inputs["environments"] = EnvironmentsReport(pairs=pairs)
        return inputs

    page = reported(tmp_path, change=change, **FULL).page
    assert re.findall(r"<td>((?:code|arguments) [^<]*)</td>", page) == [
        "code differs, values are equal",
        "arguments differ, values are equal",
        "code differs, values differ",
        "code differs, its values were not compared",
    ]
    assert "<td>yes</td>" not in page


def test_rows_that_were_not_logged_are_counted(tmp_path):
    def change(inputs):
        split = inputs["split"].model_copy(update={"not_recorded": 20})
        return inputs | {"split": split}

    page = reported(tmp_path, change=change, **FULL).page
    assert ", not recorded 20: real rows that the candidate's recording does not hold" in page


def test_a_table_that_scrolls_shows_so(tmp_path):
    page = reported(tmp_path, **FULL).page
    [style] = re.findall(r"\.scroll \{[^}]*\}", page)[:1]
    assert (style.count("local no-repeat"), style.count("scroll no-repeat")) == (2, 2)


def test_silence_of_too_few_groups_is_not_called_agreement(tmp_path):
    features = gap_in_features()
    layers = [layer.model_copy(update={"p_holm": 0.4}) for layer in features.layers]
    change = {"layers": layers, "begins_at": None, "can_tell": False, "num_not_finite": 3}
    planted = {"real": 0.45, "features": features.model_copy(update=change)}
    made = reported(tmp_path, **planted)
    assert "Cannot tell: too few groups" in made.page
    assert "3 rows were left out" in made.page
    assert "No examined layer tells" not in made.page
    [gap] = made.answer.diagnose.findings
    assert any("cannot be told: too few groups" in said for said in gap.evidence)


def test_intervals_say_how_many_groups_they_rest_on(tmp_path):
    page = reported(tmp_path, **WITH_DATA).page
    assert "n&nbsp;=&nbsp;300 in 15 groups" in page


def test_no_report_says_where_it_ran(tmp_path):
    assert '"device"' not in to_json(reported(tmp_path, **WITH_DATA).answer)


def test_without_pictures_no_sample_is_embedded(tmp_path):
    page = reported(tmp_path, pictures="none", **FULL).page
    assert "data:image" not in page
    assert "pictures: none" in page


def test_what_does_not_apply_says_why_in_a_line(tmp_path):
    page = reported(tmp_path, **FULL).page
    assert "Not applicable: The case names no layers." in page
    assert "Not applicable: Parity is broken" in page


@pytest.mark.parametrize(
    "planted",
    [{}, {"labelled": False}, {"model": 0.3, "refuses": ("real-candidate",)}, {"rows": 9}],
    ids=["nothing wrong", "no labels", "a model that refuses tensors", "three rows a role"],
)
def test_any_world_makes_a_page(tmp_path, planted):
    page = reported(tmp_path, **planted).page
    assert page.startswith("<!doctype html>")
    assert not re.search(
        r"\b(None|nan|inf)\b", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    )


def test_many_classes_and_layers_still_fit():
    from stages import plots

    counts = np.eye(40, dtype=np.int64)
    assert plots.confusion("many", "many classes", counts).count("<text") < 40
    layer = gap_in_features().layers[0]
    many = [layer.model_copy(update={"layer": f"block.{at}.conv"}) for at in range(200)]
    drawn = plots.layers(gap_in_features().model_copy(update={"layers": many}))
    assert drawn.count("<text") < 80


def test_a_case_without_any_label_shows_how_sure_its_model_is():
    told = Unlabelled(
        side="reference", n=9, assumes="", histogram_sim=[0.5, 0.5], histogram_real=[0.2, 0.8]
    )
    found = EvaluateReport(metric="accuracy", unit=None, evaluated=[], unlabelled=[told])
    charts = evaluate._classes(found)
    assert (charts["side"], "histogram" in charts) == ("reference", True)
