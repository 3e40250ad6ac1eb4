"""A recorded candidate: what it does not hold is unknown, said so, and never counted as wrong."""

import numpy as np
import pytest
from planted_world import World, build, report_inputs

from stages.diagnose import DiagnoseParams, Inputs, run
from stages.stage import NotApplicable

NO_CHAIN = NotApplicable(not_applicable="The candidate is recorded: no step of it can be run.")
BROKEN = {"steps": {"turn": (0.5, "transpose")}, "model": 0.2}


def diagnosed(tmp_path, recorded, **planted):
    made = build(World(recorded=recorded, **planted), tmp_path)
    made["swap"] = NO_CHAIN
    if "tensors" not in recorded:
        made["parity"] = NO_CHAIN
    return run(DiagnoseParams(resamples=300), Inputs(**made), tmp_path).report


def parts(found):
    return {part.component: part.loss for part in found.parts}


def test_tensors_and_predictions_tell_preprocessing_from_model_in_one_order(tmp_path):
    found = diagnosed(tmp_path, ("tensors", "predictions"), **BROKEN)
    assert set(parts(found)) == {"data", "preprocessing", "model"}
    assert sum(p.loss.value for p in found.parts) == pytest.approx(found.gap.value)
    assert [f.component for f in found.findings] == ["preprocessing", "model"]
    assert "exchanged first" in found.parts_say
    assert "depend on their order" in found.verdict
    assert any("a recording cannot be asked" in said for said in found.not_examined)


def test_a_recorded_model_that_answers_alike_need_not_be_asked_again(tmp_path):
    found = diagnosed(tmp_path, ("tensors", "predictions"), steps={"turn": (0.5, "transpose")})
    assert " now, 97.0 % with that mended." in found.verdict


def test_predictions_alone_leave_one_part(tmp_path):
    found = diagnosed(tmp_path, ("predictions",), **BROKEN)
    assert set(parts(found)) == {"data", "deployment"}
    [cause] = found.findings
    assert (cause.component, cause.strength) == ("deployment", "strong")
    assert cause.explains == parts(found)["deployment"]
    assert "cannot be told apart: log the model's input next time" in found.verdict
    assert "Serve the reference as a whole" in found.actions[0]


def test_tensors_alone_leave_the_deployment_unknown(tmp_path):
    found = diagnosed(tmp_path, ("tensors",), **BROKEN)
    assert set(parts(found)) == {"data", "preprocessing"}
    assert found.levels[-1].name == "real, reference behind the candidate's preprocessing"
    assert [f.component for f in found.findings] == ["preprocessing"]
    assert "log its predictions next time" in found.verdict


@pytest.mark.parametrize("recorded", [("tensors", "predictions"), ("predictions",), ("tensors",)])
def test_a_recording_of_a_sound_deployment_accuses_nothing(tmp_path, recorded):
    found = diagnosed(tmp_path, recorded)
    assert found.findings == []
    assert found.verdict.startswith("No fault was found")


def test_rows_without_an_answer_are_left_out(tmp_path):
    made = build(World(recorded=("predictions",)), tmp_path)
    made |= {"swap": NO_CHAIN, "parity": NO_CHAIN}
    path = tmp_path / "candidate" / "real-candidate.labels.npy"
    answers = np.load(path)
    answers[:450] = -1
    np.save(path, answers)
    found = run(DiagnoseParams(resamples=300), Inputs(**made), tmp_path).report
    assert found.levels[-1].metric.n == 150  # of 300
    assert found.findings == []


@pytest.mark.parametrize(
    ("recorded", "known"), [(("tensors",), False), (("predictions",), True)], ids=["no", "yes"]
)
def test_the_gate_abstains_without_answers(tmp_path, recorded, known):
    inputs = report_inputs(tmp_path, recorded=recorded)
    by_name = {one.name: one for one in inputs["gate"].criteria}
    for name in ("accuracy", "drop", "agreement"):
        assert (by_name[name].passed is True) == known
    if not known:
        assert "answers are not known: it was not logged." in by_name["accuracy"].why
        assert by_name["accuracy"].n == 0
