"""Planted confidence, groups and misses come back as figures; what proves is never looked at."""

import numpy as np
import pytest

from stages.evaluate import EvaluateParams, Inputs, run
from stages.reports.predict import PredictReport
from stages.stage import to_json

CLASSES = 3


def logits(labels, share_right, sharpness):
    """Answer: so many of each twenty right, all equally sure."""
    wrong = np.arange(len(labels)) % 20 >= 20 * share_right
    said = np.where(wrong, (labels + 1) % CLASSES, labels)
    return (sharpness * np.eye(CLASSES)[said]).astype(np.float32), said.astype(np.int64)


def world(folder, *, real=0.6, sharpness=3.0, labelled=True, outputs=True, task="classes"):
    """300 sim and 300 real rows in 15 groups; rows of role prove are answered all wrong."""
    generator = np.random.default_rng(0)
    lines = ["dataset,id,row,path,label,group,role"]
    reports, folders = {}, {}
    truth = {name: generator.integers(CLASSES, size=300) for name in ("sim", "real")}
    numbers = {name: generator.normal(20, 5, 300) for name in ("sim", "real")}
    roles = np.array([("diagnose", "fit", "prove")[at % 15 % 3] for at in range(300)])
    for name in ("sim", "real"):
        for at in range(300):
            label = truth[name][at] if task == "classes" else f"{numbers[name][at]:.6f}"
            shown = label if labelled or name == "sim" else ""
            role = "validation" if name == "sim" else roles[at] if labelled else "unlabelled"
            lines.append(f"{name},{name}{at},{at},,{shown},g{at % 15},{role}")
    (folder / "roles.csv").write_text("\n".join(lines) + "\n")
    for side in ("reference", "candidate"):
        (folder / side).mkdir()
        folders[side] = folder / side
        for where, right in (("sim", 0.95), ("real", real)):
            raw, said = logits(truth[where], right, sharpness)
            if where == "real" and labelled:
                said = np.where(roles == "prove", (truth[where] + 1) % CLASSES, said)
            if task != "classes":
                said = numbers[where] + generator.normal(0.5, 1, 300)
                raw = said[:, None].astype(np.float32)
            name = "sim" if where == "sim" else f"real-{side}"
            np.save(folder / side / f"{name}.labels.npy", said)
            if outputs:
                np.save(folder / side / f"{name}.npy", raw)
        np.save(folder / side / "real-reference.labels.npy", said)
        reports[side] = PredictReport(side=side, model="m:b", sets={}, errors={})
    return Inputs(
        roles=folder / "roles.csv",
        reference=reports["reference"],
        candidate=reports["candidate"],
        last_good=None,
        reference_outputs=folders["reference"],
        candidate_outputs=folders["candidate"],
        last_good_outputs=None,
    )


def evaluated(tmp_path, params=None, **planted):
    given = EvaluateParams(**({"resamples": 200} | (params or {})))
    return run(given, world(tmp_path, **planted), tmp_path)


def of(report, side, where):
    return next(one for one in report.evaluated if (one.side, one.where) == (side, where))


def test_each_side_is_measured_without_the_rows_that_prove(tmp_path):
    report = evaluated(tmp_path).report
    found = of(report, "candidate", "real")
    assert found.n == 200  # a third proves
    assert found.metric.value == pytest.approx(0.6, abs=0.08)
    assert {part.name for part in found.groups} <= {f"g{at}" for at in range(15) if at % 3 != 2}
    assert sum(map(sum, found.confusion)) == 200
    assert [part.name for part in sorted(found.classes, key=lambda p: p.name)] == ["0", "1", "2"]
    assert of(report, "reference", "sim").metric.value == pytest.approx(0.95, abs=0.04)


def test_a_model_that_is_too_sure_in_the_field_is_seen(tmp_path):
    report = evaluated(tmp_path).report
    sim, real = (of(report, "candidate", where).calibration for where in ("sim", "real"))
    assert sim.taken_as == "softmax of the outputs"
    assert abs(sim.over) < 0.06
    assert real.over == pytest.approx(0.91 - 0.6, abs=0.08)
    assert real.error.low > 0.15
    assert real.brier.value > sim.brier.value


def test_without_labels_agreement_confidence_and_a_guess_are_told(tmp_path):
    report = evaluated(tmp_path, labelled=False).report
    found = of(report, "candidate", "real")
    assert (found.metric, found.why_not) == (None, "No row has a label.")
    [reference, candidate] = report.unlabelled
    assert reference.agreement is None
    assert candidate.agreement.n == 300
    assert candidate.expected.n == 300
    assert "assumes" in candidate.assumes
    assert candidate.confidence_real.value == pytest.approx(0.909, abs=0.01)
    assert sum(candidate.histogram_real) == pytest.approx(1)


def test_answers_without_outputs_have_a_metric_and_no_calibration(tmp_path):
    found = of(evaluated(tmp_path, outputs=False).report, "candidate", "real")
    assert found.metric is not None
    assert (found.calibration, found.why_no_calibration) == (None, "No raw outputs were recorded.")


def test_a_side_without_answers_says_why(tmp_path):
    inputs = world(tmp_path)
    (tmp_path / "candidate/sim.labels.npy").unlink()
    inputs.candidate.errors["sim"] = "recorded: only real rows were logged"
    found = of(run(EvaluateParams(resamples=50), inputs, tmp_path).report, "candidate", "sim")
    assert found.why_not == "recorded: only real rows were logged"


def test_numbers_are_told_by_their_misses(tmp_path):
    made = evaluated(tmp_path, {"metric": "mae", "unit": "K"}, task="numbers")
    found = of(made.report, "candidate", "real")
    assert found.residuals.bias.value == pytest.approx(0.5, abs=0.2)
    assert found.residuals.slope.value == pytest.approx(1, abs=0.1)
    assert found.metric.value == pytest.approx(found.residuals.mae.value)
    assert (found.confusion, found.calibration, made.report.unlabelled) == (None, None, [])
    assert len(made.predicted.splitlines()) == 1 + 2 * (300 + 200)


def test_a_private_case_names_no_group_and_writes_no_line_a_row(tmp_path):
    params = {"metric": "r2", "pictures": "none"}
    made = evaluated(tmp_path, params, task="numbers")
    assert made.predicted == "side,where,true,predicted\n"
    groups = of(made.report, "candidate", "real").residuals.groups
    assert all(one.group.startswith("group ") for one in groups)


def test_the_same_inputs_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (evaluated(tmp_path / name) for name in ("one", "two"))
    assert to_json(one.report) == to_json(two.report)
    assert one.reliability == two.reliability
    assert one.sweep.startswith("side,where,threshold,coverage,accuracy\n")
