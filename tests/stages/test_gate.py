import json
import re

import pytest
from planted_world import World, build, gap_in_features

from assay.power import Needed
from stages import diagnose
from stages.gate import GateParams, Inputs, run
from stages.gate_reasons import within_says
from stages.labels_needed import would
from stages.reports.contract import Check, ContractReport
from stages.stage import NotApplicable


def contract(*, passed=True):
    check = Check(
        dataset="real",
        name="expect_column_values_to_be_in_set",
        column="label",
        says="label is one of 0 to 9",
        passed=passed,
        observed="12",
        num_breaches=int(not passed),
        rows=[] if passed else ["real_3"],
    )
    return ContractReport(
        checks=[check], rows={"sim": 900, "real": 900}, left_out={}, passed=passed
    )


def gated(tmp_path, *, params=None, holds=True, parity=None, **planted):
    made = build(World(**planted), tmp_path)
    if parity is not None:
        made["parity"] = parity
    found = diagnose.run(diagnose.DiagnoseParams(resamples=200), diagnose.Inputs(**made), tmp_path)
    names = ("parity", "features", "roles", "candidate", "reference_outputs", "candidate_outputs")
    inputs = Inputs(
        contract=contract(passed=holds),
        diagnose=found.report,
        **{name: made[name] for name in names},
    )
    return run(params or GateParams(resamples=200), inputs, tmp_path)


def passes(report):
    return {criterion.name: criterion.passed for criterion in report.criteria}


GOOD = dict.fromkeys(["contract", "parity", "accuracy", "drop", "agreement"], True)
CASES = {
    "all well": ({}, "open", GOOD),
    "a broken contract": ({"holds": False}, "closed", GOOD | {"contract": False}),
    "a broken step": (
        {"steps": {"turn": (0.7, "transpose")}},
        "closed",
        {"contract": True, "parity": False, "accuracy": False, "drop": False, "agreement": False},
    ),
    "a step that is proved harmless": ({"steps": {"scale": (0.0, "scale")}}, "open", GOOD),
    "a harmless step beside one that costs": (
        {"steps": {"scale": (0.0, "scale"), "turn": (0.7, "transpose")}},
        "closed",
        {"contract": True, "parity": False, "accuracy": False, "drop": False, "agreement": False},
    ),
    "a gap that both sides share": (
        {"real": 0.45},
        "closed",
        GOOD | {"accuracy": False, "drop": False},
    ),
    "too few rows": (
        {"rows": 90, "num_groups": 90},
        "abstained",
        GOOD | {"accuracy": None, "drop": None, "agreement": None},
    ),
    "no labels": (
        {"labelled": False},
        "abstained",
        GOOD | {"accuracy": None, "drop": None},
    ),
    "parity that does not apply": (
        {"parity": NotApplicable(not_applicable="the candidate is recorded")},
        "abstained",
        GOOD | {"parity": None},
    ),
}


@pytest.mark.parametrize(("planted", "verdict", "found"), CASES.values(), ids=CASES.keys())
def test_each_criterion_says_passed_failed_or_cannot_tell(tmp_path, planted, verdict, found):
    report = gated(tmp_path, **planted).report
    assert (report.verdict, passes(report)) == (verdict, found)


def test_a_harmless_difference_passes_by_its_proof(tmp_path):
    report = gated(tmp_path, steps={"scale": (0.0, "scale")}).report
    [found] = [one for one in report.criteria if one.name == "parity"]
    assert found.figure == 1.0  # the numbers do differ
    assert "`scale`" in found.why
    assert "proved every difference harmless" in found.why


def test_an_undecided_difference_does_not_pass(tmp_path):
    planted = {"steps": {"turn": (0.02, "transpose")}, "rows": 240, "num_groups": 12}
    report = gated(tmp_path, **planted).report
    assert passes(report)["parity"] is False


def test_a_straddled_threshold_says_what_would_decide(tmp_path):
    params = GateParams(min_accuracy=0.97, resamples=200)
    report = gated(tmp_path, params=params).report
    [accuracy] = [one for one in report.criteria if one.name == "accuracy"]
    assert accuracy.passed is None
    assert "rows in 40 groups that prove would decide" in accuracy.why
    said = (
        r"^accuracy 9\d\.\d % \(CI .*, 300 rows that prove\) could be below 97\.0 %; about \d+ rows"
    )
    assert re.search(said, report.because)


def test_few_rows_may_close_the_gate_and_never_open_it(tmp_path):
    few = {"rows": 90, "num_groups": 90}
    good, bad = (tmp_path / name for name in ("good", "bad"))
    good.mkdir()
    bad.mkdir()
    params = GateParams(resamples=200, min_accuracy=0.5)
    held = {one.name: one for one in gated(good, params=params, **few).report.criteria}
    assert held["accuracy"].passed is None
    assert "30 rows are too few to pass: 50 are asked for" in held["accuracy"].why
    report = gated(bad, params=params, real=0.1, **few).report
    assert passes(report)["accuracy"] is False
    assert report.verdict == "closed"
    assert "is below 50.0 %" in report.because


def test_a_closed_gate_names_what_closed_it(tmp_path):
    report = gated(tmp_path, holds=False).report
    assert report.because == "the data contract (real: expect_column_values_to_be_in_set)"


def test_without_labels_the_gate_says_how_many_would_do(tmp_path):
    said = gated(tmp_path, labelled=False).report.because
    assert re.search(r"has a label\); about \d+ rows in \d+ groups with labels would show", said)


def test_what_no_one_can_collect_is_called_so():
    assert would(Needed(rows=83601), "decide", 440).startswith("Far more rows than can be had")


def test_the_tolerance_of_parity_is_told_in_words(tmp_path):
    [parity] = [one for one in gated(tmp_path).report.criteria if one.name == "parity"]
    assert parity.limit == "within 1e-06"
    assert within_says(1e-6, 1e-6) == "within 1e-06, or one part in a million"


def test_every_criterion_has_a_reason_and_a_threshold(tmp_path):
    for criterion in gated(tmp_path, steps={"turn": (0.7, None)}).report.criteria:
        assert criterion.why.endswith(".")
        assert criterion.says.endswith(".")


def test_metrics_are_flat_and_finite(tmp_path):
    figures = json.loads(gated(tmp_path, features=gap_in_features()).metrics)
    assert all(isinstance(figure, float) for figure in figures.values())
    assert {"gap", "accuracy_sim", "accuracy_real_candidate", "parity_max_abs"} <= set(figures)
    assert figures["effect_last_layer"] == pytest.approx(0.96)


def test_what_is_unknown_is_left_out_of_the_metrics(tmp_path):
    figures = json.loads(gated(tmp_path, labelled=False).metrics)
    assert "accuracy_prove_candidate" not in figures
    assert "gap" not in figures
