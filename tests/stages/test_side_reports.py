"""What the sides write by hand is what the next stage reads, to the key."""

import json

import numpy as np
import pytest
import toy as toys

from sides import predict, preprocess
from stages import predict as predict_stage
from stages import preprocess as preprocess_stage
from stages import swap as swap_stage
from stages import swap_inputs as swap_inputs_stage
from stages import swap_steps as swap_steps_stage
from stages.stage import NotApplicable, read_report

STEPS = [toys.step("decode"), toys.step("scale")]
OTHERS = {
    "a step that differs": [toys.step("decode", "turned"), toys.step("scale")],
    "a step that fails": [toys.step("decode", "halves"), toys.step("scale")],
    "nothing differs": STEPS,
    "no pairs": [toys.step("load", "decode")],
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return toys.make(tmp_path, monkeypatch)


def validated(stage, into):
    """Read the report as its declared type; no key of it is left to a default."""
    [kind] = [field.type for field in stage.outputs if field.name == "report"]
    report = read_report(kind, into / "report.json")
    assert set(json.loads((into / "report.json").read_text())) == set(type(report).model_fields)
    return report


@pytest.mark.parametrize("candidate", OTHERS.values(), ids=OTHERS.keys())
def test_every_side_report_is_of_its_declared_type(toy, candidate):
    folders = {}
    for side in ("reference", "candidate"):
        folders[side] = toy.into(side)
        preprocess.run(toys.preprocess_params(STEPS), toy.inputs, folders[side], side)
        validated(preprocess_stage.STAGE, folders[side])
    swapped = toy.into("swapped")
    toys.swap(toy, STEPS, candidate, swapped)
    validated(swap_inputs_stage.STAGE, toy.folder / "swapped-inputs")
    validated(swap_steps_stage.STAGE, toy.folder / "swapped-steps")
    report = validated(swap_stage.STAGE, swapped)
    assert isinstance(report, NotApplicable) == (candidate is OTHERS["no pairs"])
    _predict(toy, folders, swapped)


def _predict(toy, folders, swapped):
    for side in ("reference", "candidate"):
        into = toy.into(f"predicted-{side}")
        inputs = {
            "model": toy.folder / "model",
            "weights": None,
            "roles": toy.folder / "roles.csv",
            "real": folders[side] / "real.npy",
            "sim": folders[side] / "sim.npy",
            "real_reference": folders["reference"] / "real.npy",
            "real_candidate": folders["candidate"] / "real.npy",
            "swap": swapped / "tensors",
        }
        params = {
            "model": "toy_models:build",
            "postprocess": None,
            "task": "classification",
            "layers": [],
            "recorded": None,
            "batch": 16,
            "device": "cpu",
        }
        predict.run(params, inputs, into, side)
        report = validated(predict_stage.STAGE, into)
        assert np.load(into / "outputs/sim.npy").shape[0] == report.sets["sim"]
