"""Facts beside the metric are named with the cause that they speak of, and as mere facts."""

import planted_sections as beside
import pytest
from planted_world import World, build

from stages import diagnose
from stages.reports.inputs import InputsReport


def findings(tmp_path, *, given=None, **planted):
    made = build(World(**planted), tmp_path) | (given or {})
    found = diagnose.run(
        diagnose.DiagnoseParams(resamples=200), diagnose.Inputs(**made), tmp_path
    ).report.findings
    return {(one.component, one.step): " ".join(one.evidence) for one in found}


def test_a_model_that_differs_is_told_beside_what_else_differs(tmp_path):
    said = findings(tmp_path, model=0.4, given={"environments": beside.other_environment()})
    assert "may change numbers: numpy (2.4.6 → 1.26.4)" in said["model", None]


def test_one_environment_is_not_called_equal(tmp_path):
    said = findings(tmp_path, model=0.4, given={"environments": beside.one_environment()})
    assert "numpy" not in said["model", None]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        pytest.param("turn", "was changed since it last worked", id="it came since"),
        pytest.param("scale", "it is not the incident", id="it was always so"),
    ],
)
def test_a_step_is_told_by_whether_it_changed_since_it_worked(tmp_path, step, words):
    said = findings(tmp_path, steps={step: (0.5, None)}, given={"since": beside.broke_in_between()})
    assert words in said["preprocessing", step]


def test_raw_samples_that_differ_are_no_proof(tmp_path):
    said = findings(tmp_path, real=0.5, given={"inputs": beside.brighter()})
    text = said["data", None]
    assert "surely differ in 5 of 13 figures, most in brightness" in text
    assert "no proof" in text


def test_silence_of_few_groups_is_told_as_such(tmp_path):
    inputs: InputsReport = beside.brighter().model_copy(update={"can_tell": False})
    said = findings(tmp_path, real=0.5, given={"inputs": inputs})
    assert "cannot be told: few groups" in said["data", None]
