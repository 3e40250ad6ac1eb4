"""What worked before, and how many labels would decide what few of them leave open."""

import re

import pytest
from planted_world import World, build, contract

from stages import gate
from stages.diagnose import DiagnoseParams, Inputs, run

BROKEN = {"steps": {"turn": (0.5, "transpose")}}


def gated(made, tmp_path, resamples=100):
    found = run(DiagnoseParams(resamples=100), Inputs(**made), tmp_path).report
    names = ("parity", "features", "roles", "candidate", "reference_outputs", "candidate_outputs")
    given = {name: made[name] for name in names}
    inputs = gate.Inputs(contract=contract(), diagnose=found, **given)
    criteria = gate.run(gate.GateParams(resamples=resamples), inputs, tmp_path).report.criteria
    return {criterion.name: criterion for criterion in criteria}


def diagnosed(tmp_path, **planted):
    made = build(World(**planted), tmp_path)
    return run(DiagnoseParams(resamples=300), Inputs(**made), tmp_path).report


def test_rolling_back_leads_where_it_is_shown_to_be_better(tmp_path):
    found = diagnosed(tmp_path, last_good=0.95, **BROKEN)
    assert [level.name for level in found.levels] == [
        "simulation",
        "real, reference",
        "real, last good",
        "real, as deployed",
    ]
    assert found.actions[0].startswith("Roll back to what last worked: it is right on 9")
    assert re.search(r"points better \(95 % CI [\d.]+ to [\d.]+", found.actions[0])
    assert found.actions[0] in found.verdict


def test_what_worked_before_and_does_worse_is_not_rolled_back_to(tmp_path):
    found = diagnosed(tmp_path, last_good=0.5)
    assert not any("Roll back" in action for action in found.actions)
    assert "does worse on the same rows" in found.verdict


def test_what_worked_before_and_is_no_better_is_undecided(tmp_path):
    found = diagnosed(tmp_path, last_good=0.97)
    assert "better on the same rows is undecided" in found.verdict


def test_without_labels_what_worked_before_is_compared_by_agreement(tmp_path):
    found = diagnosed(tmp_path, last_good=0.95, labelled=False, **BROKEN)
    assert found.actions[0].startswith("Roll back to what last worked: it agrees with the ref")


def test_without_labels_the_verdict_says_how_many_would_decide(tmp_path):
    found = diagnosed(tmp_path, labelled=False)
    needed = r"About \d+ rows in \d+ groups with labels would show a loss of 5\.0 points"
    assert re.search(needed, found.verdict)
    assert "nothing can be said about the data" in found.verdict


def test_few_labels_leave_the_gap_undecided_and_say_how_many_would_tell(tmp_path):
    planted = {"rows": 900, "num_groups": 900, "labelled": 60, "sim": 0.9, "real": 0.85}
    found = diagnosed(tmp_path, **planted)
    assert found.gap.low < 0 < found.gap.high
    assert "Whether the field is worse than validation is undecided" in found.verdict
    assert re.search(r"About \d+ rows with labels would show", found.verdict)


def test_a_small_validation_set_shows_nothing_however_many_labels(tmp_path):
    found = diagnosed(tmp_path, rows=90, num_groups=90, labelled=False, sim=0.9)
    assert "Validation is too small for any number of labels" in found.verdict


@pytest.mark.parametrize("labelled", [1, 2, 5, 20])
@pytest.mark.parametrize("num_groups", [1, 90])
def test_any_number_of_labels_and_groups_gives_an_answer(tmp_path, labelled, num_groups):
    made = build(World(rows=90, num_groups=num_groups, labelled=labelled, **BROKEN), tmp_path)
    held = gated(made, tmp_path)
    assert held["accuracy"].passed in (None, False)  # few rows may close the gate
    assert held["accuracy"].why.endswith(".")


def test_the_gate_says_how_many_labels_would_show_its_threshold(tmp_path):
    held = gated(build(World(labelled=False), tmp_path), tmp_path)
    needed = r"as good as validation \(9\d\.\d %\): About \d+ rows in \d+ groups with labels would "
    for name, does in (("accuracy", r"show at least 90\.0 %\."), ("drop", r"show a loss of 5\.0 ")):
        assert re.search(needed + does, held[name].why)


def test_gate_and_verdict_count_the_labels_of_one_question_alike(tmp_path):
    made = build(World(labelled=False), tmp_path)
    found = run(DiagnoseParams(), Inputs(**made), tmp_path).report
    number = r"About (\d+ rows in \d+ groups) with labels would show a loss of 5\.0 points"
    [told] = re.findall(number, found.verdict)
    [held] = re.findall(number, gated(made, tmp_path, resamples=2000)["drop"].why)
    assert told == held


def test_a_figure_and_its_interval_point_in_one_direction(tmp_path):
    found = diagnosed(tmp_path, sim=0.90, real=0.95)
    above = re.search(
        r"([\d.]+) points above validation \(95 % CI (\S+) to ([\d.]+)", found.verdict
    )
    value, low, high = (float(text.replace("\N{MINUS SIGN}", "-")) for text in above.groups())
    assert low < value < high
    assert above.group() in found.gap_says


FEW = {"rows": 480, "num_groups": 480, "labelled": 40, "sim": 0.99, "real": 0.99}


@pytest.mark.parametrize("seed", range(4))
def test_few_labels_name_what_no_labels_would_name(tmp_path, seed):
    """Some dozen labelled rows decide nothing: the answers that a step changes lead."""
    steps = {"scale": (0.0, "scale"), "resize": (0.12, None)}
    found = diagnosed(tmp_path, steps=steps, seed=seed, **FEW)
    assert [one.step for one in found.findings] == ["resize", "scale"]
    resize, scale = found.findings
    assert found.verdict.startswith("Step `resize`")
    assert scale.harmless
    said = r"agreement with the reference on 4\d\d real rows, labelled or not .* changes [\d.]+ %"
    assert any(re.search(said, one) for one in scale.evidence)
    if resize.undecided:
        assert re.search(said, found.verdict)


def test_rows_that_are_all_alike_bound_a_loss_by_the_rule_of_three(tmp_path):
    found = diagnosed(tmp_path, steps={"scale": (0.0, "scale")}, **FEW)
    [scale] = found.findings
    assert scale.explains.low < 0 < scale.explains.high == pytest.approx(3 / scale.explains.n)
    assert any("changes nothing (at most 3 / n: " in said for said in scale.evidence)
