"""What a deployment changed is told from what it always did differently."""

import numpy as np
import pytest
from planted_facts import facts, step

from stages.reports.parity import OwnDifference, ParityReport
from stages.reports.preprocess import PreprocessReport, StepOutput
from stages.reports.since import SinceReport
from stages.since import Inputs, SinceParams, run
from stages.stage import NotApplicable


def make(
    folder, *, worse=0.3, labelled=True, changed=("decode",), recorded=False, last_good=True
) -> Inputs:
    """Since it worked, steps named in `changed` call other code and make other numbers.

    `scale` differs from the reference's on both sides, as ever.
    """
    names = ("decode", "scale")
    as_ever = [step("decode"), step("scale", args='{"by": 256}')]
    now = [step(one.name, f"served:{one.name}", one.args) if one.name in changed else one
           for one in as_ever]  # fmt: skip
    lines = ["dataset,id,row,path,label,group,role"]
    roles = ("diagnose", "fit", "prove")
    truth = np.arange(300) % 4
    for at in range(300):
        role = roles[at % 3] if labelled else "unlabelled"
        lines.append(f"real,r{at},{at},,{truth[at] if labelled else ''},g{at % 30},{role}")
    (folder / "roles.csv").write_text("\n".join(lines) + "\n")
    lost = np.random.default_rng(0).random(300) < worse
    reports, outputs, tensors = {}, {}, {}
    for side in ("last_good", "candidate"):
        said = np.where(lost & (side == "candidate"), (truth + 1) % 4, truth)
        outputs[side], tensors[side] = folder / f"{side}-out", folder / f"{side}-steps"
        outputs[side].mkdir()
        tensors[side].mkdir()
        np.save(outputs[side] / f"real-{side}.labels.npy", said)
        shift = 0.0
        for at, name in enumerate(names):
            shift += 1.0 if side == "candidate" and name in changed else 0.0
            np.save(tensors[side] / f"{at:02d}_{name}.npy", np.ones((4, 2, 2)) + shift)
        steps = [
            StepOutput(name=name, call=f"steps:{name}", file=f"{at:02d}_{name}.npy",
                       dtype="float64", shape=[2, 2])
            for at, name in enumerate(names)
        ]  # fmt: skip
        reports[side] = PreprocessReport(
            side=side,
            steps=[] if recorded and side == "last_good" else steps,
            num_sim=0,
            num_real=300,
            paired=[f"r{at}" for at in range(4)],
        )
    given = {
        "last_good": facts("last_good", steps=as_ever),
        "last_good_steps": reports["last_good"],
        "last_good_tensors": tensors["last_good"],
        "last_good_outputs": outputs["last_good"],
    }
    return Inputs(
        roles=folder / "roles.csv",
        reference=facts(),
        candidate=facts("candidate", steps=now),
        parity=_parity(("scale", *changed)),
        candidate_steps=reports["candidate"],
        candidate_tensors=tensors["candidate"],
        candidate_outputs=outputs["candidate"],
        **(given if last_good else dict.fromkeys(given)),
    )


def _parity(differing):
    own = [
        OwnDifference(key=f"00_{name}", step=name, transform=None, equal=False, max_abs=1.0)
        for name in differing
    ]
    return ParityReport(
        chain=[], first_differing_step=None, own=own, passed=False, atol=0.0, rows=[], worst=[]
    )


def told(tmp_path, **planted) -> SinceReport:
    return run(SinceParams(resamples=200), make(tmp_path, **planted), tmp_path).report


def test_the_change_is_named_by_declaration_by_value_and_by_cost(tmp_path):
    report = told(tmp_path)
    assert [(one.what, one.left, one.right) for one in report.changes] == [
        ("step decode", "steps:decode", "served:decode")
    ]
    assert report.first_differing_step == "decode"
    assert report.before.value == 1
    assert report.before.n == 200  # what proves is not looked at
    assert report.loss.value == pytest.approx(0.3, abs=0.08)
    assert report.loss.low > 0
    assert report.agreement.value == pytest.approx(1 - report.loss.value)
    assert report.summary.startswith("Since it worked, what changes numbers: step decode.")


def test_what_was_always_so_is_not_the_incident(tmp_path):
    report = told(tmp_path)
    assert report.old == ["step scale, its arguments"]
    assert report.new == ["step decode"]


def test_nothing_changed_is_said_so(tmp_path):
    report = told(tmp_path, changed=(), worse=0.0)
    assert (report.changes, report.first_differing_step) == ([], None)
    assert report.loss.value == 0
    assert "Nothing that is declared changed" in report.summary
    assert "Every step makes the same numbers" in report.summary


def test_without_labels_the_answers_are_compared(tmp_path):
    report = told(tmp_path, labelled=False)
    assert (report.loss, report.why_no_metric) == (None, "No real row has a label.")
    assert report.agreement.n == 300
    assert "get the same answer as before" in report.summary


def test_what_was_only_recorded_has_no_values_step_by_step(tmp_path):
    report = told(tmp_path, recorded=True)
    assert report.chain == []
    assert report.why_no_chain == "last_good: it has no outputs step by step"


def test_missing_answers_are_named(tmp_path):
    inputs = make(tmp_path)
    (tmp_path / "last_good-out/real-last_good.labels.npy").unlink()
    report = run(SinceParams(resamples=50), inputs, tmp_path).report
    assert report.why_no_metric == "No answers to real-last_good."


def test_a_case_without_what_worked_is_not_applicable(tmp_path):
    report = run(SinceParams(), make(tmp_path, last_good=False), tmp_path).report
    assert isinstance(report, NotApplicable)
    assert "last_good" in report.not_applicable
