"""A regression is diagnosed and gated as a classification is: by R2 or by its error in its unit."""

import json
import re

import numpy as np
import pytest
from planted_numbers import Numbers, build_numbers
from planted_world import contract
from sklearn.metrics import mean_absolute_error, r2_score

from stages import gate
from stages.answers import Side, rows_of
from stages.diagnose import DiagnoseParams, Inputs, run

UNIT = "MJ/kg"


def diagnosed(tmp_path, metric="r2", **planted):
    made = build_numbers(Numbers(**planted), tmp_path)
    params = DiagnoseParams(metric=metric, unit=UNIT, resamples=300)
    return made, run(params, Inputs(**made), tmp_path).report


def gated(tmp_path, made, found, metric, **params):
    names = ("parity", "features", "roles", "candidate", "reference_outputs", "candidate_outputs")
    given = {name: made[name] for name in names}
    holds = contract().model_copy(update={"passed": True, "checks": []})
    inputs = gate.Inputs(contract=holds, diagnose=found, **given)
    stated = gate.GateParams(metric=metric, unit=UNIT, resamples=300, **params)
    outputs = gate.run(stated, inputs, tmp_path)
    return outputs, {one.name: one for one in outputs.report.criteria}


def causes(report):
    return [(f.component, f.step, f.strength) for f in report.findings if not f.harmless]


PLANTED = {
    "nothing wrong": ({}, []),
    "a step that shifts": ({"steps": (("scale", 2.0),)}, [("preprocessing", "scale", "strong")]),
    "a harmless step beside it": (
        {"steps": (("round", 0.0), ("scale", 2.0))},
        [("preprocessing", "scale", "strong")],
    ),
    "a harmless step alone": ({"steps": (("round", 0.02),)}, []),
    "another model": ({"model": 2.5}, [("model", None, "strong")]),
    "a gap in the data": ({"real": 2.0}, [("data", None, "moderate")]),
    "a step and a model": (
        {"steps": (("scale", 2.0),), "model": 1.5},
        [("preprocessing", "scale", "strong"), ("model", None, "strong")],
    ),
}


@pytest.mark.parametrize("metric", ["r2", "mae"])
@pytest.mark.parametrize(("planted", "expected"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_fault_is_found_and_nothing_else_accused(tmp_path, metric, planted, expected):
    _, found = diagnosed(tmp_path, metric, **planted)
    assert set(causes(found)) == set(expected)
    assert sum(part.loss.value for part in found.parts) == pytest.approx(found.gap.value)


@pytest.mark.parametrize(
    ("metric", "oracle"), [("r2", r2_score), ("mae", mean_absolute_error)], ids=["r2", "mae"]
)
def test_levels_are_what_scikit_learn_computes(tmp_path, metric, oracle):
    made, found = diagnosed(tmp_path, metric, steps=(("scale", 1.0),), model=0.5)
    by_name = {level.name: level.metric for level in found.levels}
    for dataset, role, side, name, level in (
        ("sim", "validation", "reference", "sim", "simulation"),
        ("real", "diagnose", "reference", "real-reference", "real, reference"),
        ("real", "diagnose", "candidate", "real-candidate", "real, as deployed"),
    ):
        rows = rows_of(made["roles"], dataset, role, task="regression")
        given = Side(made[f"{side}_outputs"]).labels(name, rows)
        assert by_name[level].value == pytest.approx(oracle(rows.labels, given))
    assert all(e.low <= e.value <= e.high for e in by_name.values())


def test_words_come_in_the_metric_and_its_unit(tmp_path):
    (tmp_path / "r2").mkdir()
    (tmp_path / "mae").mkdir()
    _, r2 = diagnosed(tmp_path / "r2", "r2", steps=(("scale", 2.0),))
    _, mae = diagnosed(tmp_path / "mae", "mae", steps=(("scale", 2.0),))
    assert re.search(r"R² 0\.\d{3} now, 0\.\d{3} with that mended\.", r2.verdict)
    assert re.search(r"0\.\d{3} of R²", r2.verdict)
    assert re.search(r"1\.\d+ MJ/kg now, 0\.\d+ MJ/kg with that mended\.", mae.verdict)
    for report in (r2, mae):
        text = json.dumps(report.model_dump(), ensure_ascii=False)
        for wrong in ("points", "is right on", "McNemar", "accuracy"):
            assert wrong not in text.replace("explains 100.0 %", "")


def test_the_margin_of_an_error_is_a_share_of_what_the_best_constant_errs_by(tmp_path):
    made, found = diagnosed(tmp_path, "mae")
    rows = rows_of(made["roles"], "sim", "validation", task="regression")
    spread = np.abs(rows.labels - np.median(rows.labels)).mean()
    assert found.margin == pytest.approx(0.02 * spread)
    assert (found.metric, found.unit, found.measured_as) == ("mae", UNIT, "mean absolute error")


def test_r2_is_not_compared_without_the_targets_own_spread(tmp_path):
    """The same errors on targets that spread less: R2 falls, and the reason is named."""
    _, found = diagnosed(tmp_path, "r2", sim=0.8, real=0.8, narrow=0.4)
    [gap] = found.findings
    assert gap.component == "data"
    assert any("their standard deviation is 3" in said for said in gap.evidence)


def test_r2_of_targets_that_are_all_equal_is_said_to_have_no_meaning(tmp_path):
    _, found = diagnosed(tmp_path, "r2", narrow=0.0)
    assert any(
        "R² on real rows: their targets are all equal" in said for said in found.not_examined
    )


@pytest.mark.parametrize(
    ("metric", "stated", "passed"),
    [
        ("r2", {"min_r2": 0.95}, True),
        ("r2", {"min_r2": 0.9999}, False),
        ("mae", {"max_mae": 0.5}, True),
        ("mae", {"max_mae": 0.1}, False),
    ],
)
def test_the_gate_holds_a_regression_to_its_own_threshold(tmp_path, metric, stated, passed):
    made, found = diagnosed(tmp_path, metric)
    outputs, held = gated(tmp_path, made, found, metric, **stated)
    assert held[metric].passed is passed
    assert held[metric].bound == ("at most" if metric == "mae" else "at least")
    assert held[metric].figure > 0
    assert held["drop"].passed is True
    assert held["agreement"].figure == 1
    assert outputs.report.verdict == ("open" if passed else "closed")
    assert bool(outputs.report.because) is not passed
    assert f"{metric}_prove_candidate" in json.loads(outputs.metrics)


@pytest.mark.parametrize(("metric", "param"), [("r2", "min_r2"), ("mae", "max_mae")])
def test_without_a_threshold_the_gate_abstains_and_says_which_param_to_state(
    tmp_path, metric, param
):
    made, found = diagnosed(tmp_path, metric)
    outputs, held = gated(tmp_path, made, found, metric)
    assert outputs.report.verdict == "abstained"
    assert f"gate.{param}" in held[metric].why
    assert held[metric].figure is not None


def test_without_labels_numbers_agree_within_a_tolerance(tmp_path):
    made, found = diagnosed(tmp_path, "r2", labelled=False, steps=(("scale", 1.0),))
    assert found.metric == "agreement"
    assert found.agreement_within == pytest.approx(0.05 * 4, rel=0.1)
    assert causes(found) == [("preprocessing", "scale", "strong")]
    assert found.levels[0].measured == "r2"
    assert re.search(r"About \d+ rows.* would show a loss of 0\.050 of R²", found.verdict)
    _, held = gated(tmp_path, made, found, "r2", min_r2=0.9)
    assert held["r2"].passed is None
    assert "if the field is as good as validation (0.9" in held["r2"].why.lower()
    assert held["agreement"].passed is False


def test_answers_that_are_not_finite_know_nothing(tmp_path):
    _, found = diagnosed(tmp_path, "r2", not_finite=900)
    assert found.levels[-1].metric.value == pytest.approx(0, abs=1e-9)
    assert causes(found) == [("model", None, "strong")]


@pytest.mark.parametrize("rows", [3, 6, 12])
def test_few_rows_give_an_answer(tmp_path, rows):
    made, found = diagnosed(tmp_path, "mae", rows=rows, num_groups=rows)
    _, held = gated(tmp_path, made, found, "mae", max_mae=1.0)
    assert found.verdict
    assert held["mae"].passed is None
