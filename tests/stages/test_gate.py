import json
import re

import numpy as np
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


def gated(tmp_path, *, params=None, holds=True, parity=None, change=None, **planted):
    tmp_path.mkdir(exist_ok=True)
    made = build(World(**planted), tmp_path)
    if change is not None:
        change(tmp_path)
    if parity is not None:
        made["parity"] = parity
    found = diagnose.run(diagnose.DiagnoseParams(resamples=200), diagnose.Inputs(**made), tmp_path)
    names = ("parity", "features", "roles", "candidate", "reference_outputs", "candidate_outputs")
    made.setdefault("last_good_outputs", None)
    inputs = Inputs(
        contract=contract(passed=holds),
        diagnose=found.report,
        last_good_outputs=made["last_good_outputs"],
        **{name: made[name] for name in names},
    )
    return run(params or GateParams(resamples=200), inputs, tmp_path)


def passes(report):
    return {criterion.name: criterion.passed for criterion in report.criteria}


NAMES = ["contract", "parity", "accuracy", "drop", "agreement", "simulation", "groups"]
GOOD = dict.fromkeys(NAMES, True)
BAD = GOOD | dict.fromkeys(["parity", "accuracy", "drop", "agreement", "groups"], False)
CASES = {
    "all well": ({}, "open", GOOD),
    "a broken contract": ({"holds": False}, "closed", GOOD | {"contract": False}),
    "a broken step": (
        {"steps": {"turn": (0.7, "transpose")}},
        "closed",
        BAD,
    ),
    "a step that is proved harmless": ({"steps": {"scale": (0.0, "scale")}}, "open", GOOD),
    "a harmless step beside one that costs": (
        {"steps": {"scale": (0.0, "scale"), "turn": (0.7, "transpose")}},
        "closed",
        BAD,
    ),
    "a gap that both sides share": (
        {"real": 0.45},
        "closed",
        GOOD | {"accuracy": False, "drop": False},
    ),
    "too few rows": (
        {"rows": 90, "num_groups": 90},
        "abstained",
        {
            name: None if name in ("accuracy", "drop", "agreement") else True
            for name in NAMES
            if name != "groups"  # each row is a group by itself
        },
    ),
    "no labels": (
        {"labelled": False},
        "abstained",
        {name: True for name in NAMES if name != "groups"} | {"accuracy": None, "drop": None},
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


def held(tmp_path, name, **given):
    report = gated(tmp_path, **given).report
    return next((one for one in report.criteria if one.name == name), None), report


def test_what_worked_is_compared_row_by_row_where_a_case_states_it(tmp_path):
    found, report = held(tmp_path, "what worked", last_good=0.6)
    assert found.passed is True
    assert found.why == "It is better than what worked: the whole interval."
    assert found.figure == pytest.approx(-0.37, abs=0.08)
    assert report.verdict == "open"


def test_a_candidate_that_loses_to_what_worked_is_refused(tmp_path):
    found, report = held(tmp_path, "what worked", real=0.6, last_good=0.97)
    assert found.passed is False
    assert "what is lost to what worked" in report.because
    groups = next(one for one in report.criteria if one.name == "groups")
    assert groups.says.endswith("what worked.")


def test_a_group_that_is_harmed_is_named_though_all_rows_together_keep_the_level(tmp_path):
    def harm(folder):
        labels = np.load(folder / "candidate/real-candidate.labels.npy")
        hurt = np.arange(len(labels)) % 45 == 2  # g2 proves
        labels[hurt] = (labels[hurt] + 1) % 10
        np.save(folder / "candidate/real-candidate.labels.npy", labels)

    found, report = held(tmp_path, "groups", change=harm)
    assert found.passed is False
    assert "1 of 15 groups lose more: `g2`." in found.why
    private = GateParams(resamples=200, pictures="none")
    hidden, _ = held(tmp_path / "private", "groups", change=harm, params=private)
    assert "g2" not in hidden.why
    assert re.search(r"1 of 15 groups lose more: group \d+\.", hidden.why)
    assert report.verdict == "closed"
    assert "harm to groups (1 of 15 groups lose more: `g2`)" in report.because


def test_groups_with_few_rows_are_told_and_do_not_fail(tmp_path):
    params = GateParams(resamples=200, min_group_rows=21)
    found, _ = held(tmp_path, "groups", params=params)
    assert found is None
    params = GateParams(resamples=200, min_group_rows=20)
    found, _ = held(tmp_path / "two", "groups", params=params)
    assert found.passed is True


def test_what_is_lost_on_simulation_is_held(tmp_path):
    def worse(folder):
        labels = np.load(folder / "candidate/sim.labels.npy")
        labels[::8] = (labels[::8] + 1) % 10
        np.save(folder / "candidate/sim.labels.npy", labels)

    found, report = held(tmp_path, "simulation", change=worse)
    assert found.passed is False
    assert found.figure == pytest.approx(0.12, abs=0.02)
    assert "what is lost on simulation" in report.because


def test_a_calibration_error_is_held_where_it_is_stated(tmp_path):
    found, _ = held(tmp_path, "calibration")
    assert found is None
    params = GateParams(resamples=200, max_calibration_error=0.05)
    found, report = held(tmp_path / "two", "calibration", params=params)
    assert found.passed is True  # one-hot outputs: surely right, and nearly always so
    found, report = held(tmp_path / "three", "calibration", params=params, real=0.8)
    assert found.passed is False
    assert "the calibration error" in report.because


def test_later_looks_at_the_same_rows_are_held_to_wider_intervals(tmp_path):
    widths = []
    for number in (None, 1, 2, 5):
        folder = tmp_path / str(number)
        found, report = held(
            folder, "accuracy", params=GateParams(resamples=200, look=number), rows=900
        )
        widths.append(found.high - found.low)
        assert report.look.number == number
    assert widths == sorted(widths)
    assert report.look.alpha == pytest.approx(0.05 * 6 / (np.pi * 5) ** 2)
    assert widths[-1] > 1.3 * widths[0]


def test_a_look_is_named_by_the_rows_and_by_what_was_answered(tmp_path):
    one, same, other = (
        gated(tmp_path / name, **given).report.look
        for name, given in (("a", {}), ("b", {}), ("c", {"model": 0.3}))
    )
    assert one == same
    assert one.rows == other.rows
    assert one.answers != other.answers
    unlabelled = gated(tmp_path / "d", labelled=False).report.look
    assert unlabelled.answers == ""
