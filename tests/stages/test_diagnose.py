import numpy as np
import pytest
from planted_world import World, build, gap_in_features, scratch_wins

from stages.diagnose import DiagnoseParams, Inputs, run

GAP = {"real": 0.45, "features": gap_in_features(), "probe": scratch_wins()}
MASKED = {"real": 0.10, "steps": {"turn": (0.0, "transpose")}}


def diagnosed(tmp_path, **planted):
    inputs = Inputs(**build(World(**planted), tmp_path))
    return run(DiagnoseParams(resamples=400), inputs, tmp_path).report


def causes(report):
    return [(f.component, f.kind, f.step, f.strength) for f in report.findings if not f.harmless]


PLANTED = {
    "nothing wrong": ({}, []),
    "a transposed step": (
        {"steps": {"turn": (0.7, "transpose")}},
        [("preprocessing", "transpose", "turn", "strong")],
    ),
    "a harmless scale beside a transposed step": (
        {"steps": {"scale": (0.0, "scale"), "turn": (0.7, "transpose")}},
        [("preprocessing", "transpose", "turn", "strong")],
    ),
    "a harmless scale alone": ({"steps": {"scale": (0.002, "scale")}}, []),
    "a step that no explanation fits": (
        {"steps": {"resample": (0.4, None)}},
        [("preprocessing", "unknown", "resample", "strong")],
    ),
    "another model": ({"model": 0.3}, [("model", "unknown", None, "strong")]),
    "another label map": (
        {"model": 0.3, "only_labels": True},
        [("postprocessing", "unknown", None, "strong")],
    ),
    "another model that answers alike": ({"model": 0.0}, []),
    "a pure gap in the data": (GAP, [("data", "sim_to_real_gap", None, "strong")]),
    "a gap that nothing names": ({"real": 0.45}, [("data", "unknown", None, "moderate")]),
    "a gap and a worse step": (
        {**GAP, "real": 0.75, "steps": {"turn": (0.6, "transpose")}},
        [
            ("preprocessing", "transpose", "turn", "strong"),
            ("data", "sim_to_real_gap", None, "strong"),
        ],
    ),
    "a step and a model": (
        {"steps": {"turn": (0.6, "transpose")}, "model": 0.3},
        [("preprocessing", "transpose", "turn", "strong"), ("model", "unknown", None, "strong")],
    ),
    "a model that cannot take the tensors": (
        {"refuses": ("real-candidate", "real-reference")},
        [("model", "unknown", None, "strong")],
    ),
}


@pytest.mark.parametrize(("planted", "found"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_fault_is_found_and_nothing_else_accused(tmp_path, planted, found):
    assert causes(diagnosed(tmp_path, **planted)) == found


def test_parts_add_up_to_the_gap(tmp_path):
    report = diagnosed(tmp_path, **GAP, steps={"turn": (0.5, "transpose")}, model=0.2)
    assert sum(part.loss.value for part in report.parts) == pytest.approx(report.gap.value)


def test_the_verdict_names_step_cost_and_cure(tmp_path):
    planted = {"scale": (0.0, "scale"), "turn": (0.7, "transpose")}
    verdict = diagnosed(tmp_path, steps=planted).verdict
    for word in (
        "`turn`",
        "transposed",
        "points",
        "code:turn",
        "One difference beside it is harmless",
    ):
        assert word in verdict


def test_scratch_is_advised_where_pretraining_hurts(tmp_path):
    [gap] = diagnosed(tmp_path, **GAP).findings
    assert "Train from scratch on 200 real labels" in gap.action
    assert any("pre-training hurts" in said for said in gap.evidence)


def test_what_can_be_mended_today_leads(tmp_path):
    """The data may cost more, but the deployment is mended first, and is the headline."""
    gap = {**GAP, "real": 0.5}
    report = diagnosed(tmp_path, **gap, steps={"turn": (0.5, "transpose")})
    assert [finding.component for finding in report.findings] == ["data", "preprocessing"]
    assert report.verdict.startswith("Step `turn`")
    assert "The reference itself loses" in report.verdict
    assert "`turn`" in report.actions[0]


def test_no_fault_is_said_in_words(tmp_path):
    report = diagnosed(tmp_path)
    assert report.findings == []
    assert report.verdict.startswith("No fault was found")


def test_few_rows_leave_a_difference_undecided(tmp_path):
    report = diagnosed(tmp_path, steps={"turn": (0.1, "transpose")}, rows=60, num_groups=60, seed=2)
    [finding] = report.findings
    assert (finding.strength, finding.harmless, finding.undecided) == ("weak", False, True)
    assert "do not show" in report.verdict
    assert "undecided" in report.verdict
    assert any(said.startswith("Undecided") for said in finding.evidence)


def test_what_is_undecided_beside_a_cause_is_said_and_not_blamed(tmp_path):
    planted = {"turn": (0.7, "transpose"), "scale": (0.05, "scale")}
    report = diagnosed(tmp_path, steps=planted, rows=180, num_groups=12, seed=4)
    by_step = {finding.step: finding for finding in report.findings}
    assert not by_step["turn"].undecided
    assert by_step["scale"].undecided
    assert report.verdict.startswith("Step `turn`")
    assert "Undecided beside it: step `scale`" in report.verdict
    assert "`turn`" in report.actions[0]


def test_the_sides_are_compared_row_by_row(tmp_path):
    planted = {"turn": (0.7, "transpose"), "crop": (0.5, "crop")}
    report = diagnosed(tmp_path, steps=planted)
    assert "the candidate wrong on 2" in report.gap_says
    assert "p < 0.0001" in report.gap_says
    assert not any("McNemar" in said for one in report.findings for said in one.evidence)


def test_what_mending_brings_names_all_that_is_mended(tmp_path):
    for name in ("one", "two", "none"):
        (tmp_path / name).mkdir()
    planted = {"turn": (0.7, "transpose"), "crop": (0.2, "crop")}
    alone = diagnosed(tmp_path / "one", steps={"turn": (0.7, "transpose")}).verdict
    assert "On 300 real rows that diagnose: " in alone
    assert "with that mended" in alone
    both = diagnosed(tmp_path / "two", steps=planted).verdict
    assert "with all 2 steps that differ mended" in both
    assert "costs need not add up" in both
    without = diagnosed(tmp_path / "none", steps=planted, labelled=False).verdict
    assert "Agreement with the reference on 900 real rows: " in without
    assert "points of agreement more" in without


def test_without_labels_agreement_stands_in(tmp_path):
    report = diagnosed(tmp_path, labelled=False, steps={"turn": (0.7, "transpose")})
    assert report.gap is None
    assert report.measured_as == "agreement with the reference"
    assert causes(report) == [("preprocessing", "transpose", "turn", "strong")]


def test_a_floor_masks_no_fault(tmp_path):
    """Where the reference fails on real rows, validation shows what the candidate loses."""
    planted = build(World(**MASKED), tmp_path)
    answers = np.load(tmp_path / "candidate" / "sim.labels.npy")
    np.save(tmp_path / "candidate" / "sim.labels.npy", (answers + (np.arange(900) % 2)) % 10)
    report = run(DiagnoseParams(resamples=200), Inputs(**planted), tmp_path).report
    step = next(finding for finding in report.findings if finding.component == "preprocessing")
    assert not step.harmless
    said = "on validation all of the candidate together loses"
    assert any(said in sentence for sentence in step.evidence)


def test_two_steps_that_cancel_are_harmless(tmp_path):
    planted = build(World(steps={"turn": (0.7, "transpose"), "back": (0.7, "transpose")}), tmp_path)
    for side in ("reference", "candidate"):
        for end in ("npy", "labels.npy"):
            clean = np.load(tmp_path / side / f"real-reference.{end}")
            np.save(tmp_path / side / f"real-candidate.{end}", clean)
    report = run(DiagnoseParams(resamples=200), Inputs(**planted), tmp_path).report
    assert causes(report) == []
    assert "makes up for it" in report.findings[0].evidence[-1]


def test_names_decide_nothing(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = diagnosed(tmp_path / "one", steps={"turn": (0.7, None)})
    two = diagnosed(tmp_path / "two", steps={"harmless_scale": (0.7, None)})
    assert one.findings[0].explains == two.findings[0].explains


def test_the_same_inputs_give_the_same_report(tmp_path):
    inputs = Inputs(**build(World(**GAP, model=0.2), tmp_path))
    params = DiagnoseParams(resamples=200)
    assert run(params, inputs, tmp_path).report == run(params, inputs, tmp_path).report


def test_nothing_is_accused_by_chance(tmp_path):
    accused = 0
    for seed in range(40):
        (tmp_path / str(seed)).mkdir()
        report = diagnosed(
            tmp_path / str(seed), rows=240, num_groups=240, seed=seed, real=0.9, sim=0.9
        )
        accused += bool(causes(report))
    assert accused <= 4
