"""What other stages suspect gives causes their words; each rule is exchanged by itself."""

import numpy as np
import pytest
from planted_world import World, build

from stages.diagnose import DiagnoseParams, Inputs, run
from stages.reports.replay import Leakage, ReplayReport
from stages.reports.runtime import RuntimeReport
from stages.reports.suspect import Suspect
from stages.stage import Estimate, NotApplicable

MAP = Suspect(
    component="postprocessing",
    kind="label_map",
    title="The candidate's rule names classes otherwise: 3 and 5 exchanged.",
    where="postprocess",
    cost=Estimate(value=0.3, low=0.2, high=0.4, n=300),
    explained=1.0,
    evidence=["The candidate's rule answers 30 % of 900 rows otherwise."],
    action="put the reference's list of classes back, in its order",
)
TRAINS = Suspect(
    component="model",
    kind="train_mode",
    title="The candidate answers in training mode: drop (Dropout).",
    evidence=["The same 32 rows asked again."],
    action="put the model into evaluation mode",
)


def runtime(*suspects):
    return RuntimeReport(
        suspects=list(suspects),
        layers=[],
        first_layer=None,
        why_no_layers="none",
        invariance=[],
        outputs=None,
        why_no_outputs="none",
        weights="unknown",
        weights_says="",
        same_postprocess=None,
        tolerance=1e-4,
        rows=0,
    )


def replay(*suspects, why_not=None):
    return ReplayReport(
        suspects=list(suspects),
        reported=None,
        reported_by=None,
        why_not_reported="nobody",
        measured=None,
        reached=None,
        leakage=Leakage(
            num_train=0,
            num_validation=900,
            num_exact=0,
            num_near=0,
            num_shared_groups=0,
            num_in_shared_groups=0,
            rows=[],
            all_rows=None,
            without=None,
            why_not=why_not,
        ),
    )


def crossed(folder, *, rule_differs):
    """Write what each rule makes of the other side's raw outputs."""
    answers = {"reference_rule": "candidate", "candidate_rule": "reference"}
    for rule, other in answers.items():
        (folder / rule).mkdir()
        for name in ("real-reference", "real-candidate"):
            # With equal raw outputs the rule's answer is that of its own side.
            side = rule.removesuffix("_rule") if rule_differs else other
            labels = np.load(folder / side / f"{name}.labels.npy")
            np.save(folder / rule / f"{name}.labels.npy", labels)
    return {rule: folder / rule for rule in answers}


def diagnosed(tmp_path, beside, *, rule_differs=False, **planted):
    made = build(World(**planted), tmp_path) | crossed(tmp_path, rule_differs=rule_differs)
    return run(DiagnoseParams(resamples=200), Inputs(**made, **beside), tmp_path).report


def parts(report):
    return {part.component: part.loss.value for part in report.parts}


def test_a_rule_has_a_share_and_a_name_of_its_own(tmp_path):
    report = diagnosed(
        tmp_path, {"runtime": runtime(MAP)}, rule_differs=True, model=0.3, only_labels=True
    )
    [finding] = report.findings
    assert (finding.component, finding.kind) == ("postprocessing", "label_map")
    assert finding.title == MAP.title.rstrip(".")
    assert finding.action == "Put the reference's list of classes back, in its order."
    assert MAP.evidence[0] in finding.evidence
    assert any("Exchanging the postprocessing alone" in said for said in finding.evidence)
    assert parts(report)["model"] == pytest.approx(0)
    assert parts(report)["postprocessing"] == pytest.approx(report.gap.value, abs=0.05)
    assert "all eight ways" in report.parts_say
    assert "with that mended" in report.verdict
    first = report.ranked[0]
    assert (first.component, first.kind) == ("postprocessing", "label_map")
    assert first.confidence == finding.confidence > 0.7


def test_a_model_keeps_its_share_where_the_rules_are_one(tmp_path):
    report = diagnosed(tmp_path, {"runtime": runtime(TRAINS)}, model=0.3)
    [finding] = report.findings
    assert (finding.component, finding.kind) == ("model", "train_mode")
    assert parts(report)["postprocessing"] == pytest.approx(0)
    assert report.ranked[0].title == "model: the model still trains: batch norm or dropout left on"


def test_a_step_and_a_label_map_are_both_told(tmp_path):
    report = diagnosed(
        tmp_path,
        {"runtime": runtime(MAP)},
        rule_differs=True,
        model=0.3,
        only_labels=True,
        steps={"turn": (0.5, "transpose")},
    )
    assert {(one.component, one.kind) for one in report.ranked[:2]} == {
        ("preprocessing", "transpose"),
        ("postprocessing", "label_map"),
    }
    assert "both the postprocessing and that step mended" in report.verdict
    assert sum(parts(report).values()) == pytest.approx(report.gap.value)


def test_leakage_is_told_in_its_own_words(tmp_path):
    leaks = Suspect(
        component="data",
        kind="leakage",
        title="300 of 900 validation rows stand in training too.",
        cost=Estimate(value=0.2, low=0.15, high=0.25, n=900),
        explained=1.0,
        evidence=["300 rows are the same."],
        action="validate on rows that training has not seen",
        questions=["How were training and validation drawn?"],
    )
    report = diagnosed(tmp_path, {"replay": replay(leaks)}, sim=0.97, real=0.77)
    [finding] = report.findings
    assert (finding.kind, finding.evidence) == ("leakage", leaks.evidence)
    assert "Validation looks 20.0 points of accuracy better by it than it is" in report.verdict
    assert report.questions == leaks.questions


def test_questions_are_asked_where_only_the_owner_can_tell(tmp_path):
    for name in ("gap", "sound", "few"):
        (tmp_path / name).mkdir()
    assert "never simulated" in diagnosed(tmp_path / "gap", {}, real=0.5).questions[0]
    assert diagnosed(tmp_path / "sound", {}).questions == []
    assert "be labelled" in diagnosed(tmp_path / "few", {}, labelled=False).questions[0]


def test_what_no_stage_could_answer_is_said_with_its_reason(tmp_path):
    beside = {
        "runtime": NotApplicable(not_applicable="The candidate is recorded."),
        "replay": replay(why_not="No training samples are stated: data.train."),
    }
    said = diagnosed(tmp_path, beside).not_examined
    assert any(one.endswith("changes an answer: The candidate is recorded.") for one in said)
    assert any(one.endswith("No training samples are stated: data.train.") for one in said)


def test_what_the_confidences_rest_on_is_kept(tmp_path):
    from assay.posterior import confidence

    report = diagnosed(tmp_path, {}, steps={"turn": (0.5, "transpose")})
    by_answer = {(one.component, one.kind): one.figures for one in report.weighed}
    for one in report.ranked:
        figures = by_answer[one.component, one.kind]
        assert one.confidence == pytest.approx(confidence(figures), abs=1e-4)
