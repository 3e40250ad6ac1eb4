"""Mitigations in front of a model and inside it: fitted here, loaded elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from stages.mitigate import Inputs, MitigateParams, run
from stages.reports.mitigate import MitigateReport
from stages.reports.parity import ParityReport
from stages.reports.predict import PredictReport
from stages.stage import NotApplicable

CLASSES, SIDE, ROWS = 4, 6, 480
GENERATOR = np.random.default_rng(0)
PROTOTYPES = GENERATOR.normal(size=(CLASSES, SIDE, SIDE)).astype(np.float32)
LABELS = {name: GENERATOR.integers(CLASSES, size=ROWS) for name in ("sim", "real")}


def pictures(name: str) -> np.ndarray:
    noise = GENERATOR.normal(size=(ROWS, SIDE, SIDE))
    return (PROTOTYPES[LABELS[name]] + 1.2 * noise).astype(np.float32)


CLEAN = {name: pictures(name) for name in LABELS}


class Net(nn.Module):
    """Batch statistics of simulation, then a matched filter."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(SIDE * SIDE, affine=False)
        self.last = nn.Linear(SIDE * SIDE, CLASSES)

    def forward(self, rows):
        return self.last(self.norm(rows.flatten(1)))


def net(off: float = 0.0) -> Net:
    torch.manual_seed(0)
    model = Net()
    flat = CLEAN["sim"].reshape(ROWS, -1)
    with torch.no_grad():
        model.norm.running_mean.copy_(torch.from_numpy(flat.mean(axis=0)))
        model.norm.running_var.copy_(torch.from_numpy(flat.var(axis=0)))
        weights = (PROTOTYPES.reshape(CLASSES, -1) - flat.mean(axis=0)) / flat.std(axis=0)
        model.last.weight.copy_(torch.from_numpy(weights))
        model.last.bias.copy_(torch.from_numpy(-0.5 * (weights**2).sum(axis=1)))
        model.last.bias[0] += off
    return model.eval()


@pytest.fixture
def module(monkeypatch):
    made = type(sys)("toy_net")
    made.build = lambda _folder: net()
    monkeypatch.setitem(sys.modules, "toy_net", made)
    return made


def said(side: str) -> PredictReport:
    sets = {"sim": ROWS, "real-reference": ROWS, "real-candidate": ROWS}
    return PredictReport(side=side, model="toy_net:build", sets=sets, errors={})


def tried(folder: Path, served, *, equal=False, off=0.0):
    """Let the candidate see pictures through `served`; `equal`: both sides do, in the field."""
    lines = ["dataset,id,row,path,label,group,role"]
    for name, found in LABELS.items():
        for at, label in enumerate(found):
            group = f"g{at % 24}"
            role = "validation" if name == "sim" else ("diagnose", "fit", "prove")[at % 24 % 3]
            lines.append(f"{name},{name}{at},{at},,{label},{group},{role}")
    (folder / "roles.csv").write_text("\n".join(lines) + "\n")
    model = net(off)
    field = served(CLEAN["real"]) if equal else CLEAN["real"]
    sets = {"sim": CLEAN["sim"], "real-reference": field}
    theirs = {"sim": CLEAN["sim"] if equal else served(CLEAN["sim"]), "real-reference": field}
    for side, own in (("reference", sets), ("candidate", theirs)):
        own["real-candidate"] = served(CLEAN["real"])
        (folder / side).mkdir()
        np.save(folder / f"{side}-sim.npy", own["sim"])
        np.save(folder / f"{side}-real.npy", own["real-" + side])
        for name, tensors in own.items():
            with torch.no_grad():
                raw = model(torch.from_numpy(np.ascontiguousarray(tensors))).numpy()
            np.save(folder / side / f"{name}.npy", raw)
            np.save(folder / side / f"{name}.labels.npy", raw.argmax(axis=1))
    parity = ParityReport(
        chain=[],
        first_differing_step=None if equal else "decode",
        own=[],
        passed=equal,
        atol=0.0,
        rows=[],
        worst=[],
    )
    inputs = Inputs(
        roles=folder / "roles.csv",
        parity=parity,
        model=folder,
        weights=None,
        reference_sim=folder / "reference-sim.npy",
        reference_real=folder / "reference-real.npy",
        candidate_sim=folder / "candidate-sim.npy",
        candidate_real=folder / "candidate-real.npy",
        candidate=said("candidate"),
        reference_outputs=folder / "reference",
        candidate_outputs=folder / "candidate",
    )
    into = folder / "into"
    into.mkdir()
    params = MitigateParams(model="toy_net:build", classes=CLASSES, resamples=200)
    made = run(params, inputs, into)
    assert not isinstance(made.report, NotApplicable)
    return made


def loaded(folder: Path, **given) -> dict[str, np.ndarray]:
    """Run the two lines of an offer where nothing of ours can be imported."""
    lines = (folder / "load.txt").read_text().splitlines()
    np.savez(folder / "given.npz", **given)
    keep = "answer if isinstance(answer, dict) else {'answer': answer}"
    code = ["import numpy", "globals().update(dict(numpy.load('given.npz')))", *lines]
    code += [f"numpy.savez('answer.npz', **({keep}))"]
    environment = {"PATH": os.environ["PATH"]}
    words = [sys.executable, "-I", "-c", "\n".join(code)]
    subprocess.run(words, cwd=folder, env=environment, check=True, timeout=120)
    with np.load(folder / "answer.npz") as made:
        return dict(made)


def offer(report: MitigateReport, kind: str):
    found = report.offer(kind)
    assert found is not None, [(one.kind, one.why) for one in report.not_offered]
    return found


def test_a_transform_is_undone_on_tensors_where_the_steps_cannot_be_replaced(
    tmp_path, module, monkeypatch
):
    monkeypatch.setattr("stages.mitigate_attempts.Attempts._on_reference_sim", lambda _: None)

    def served(x):
        return 255 * np.swapaxes(x, 1, 2) + 3

    outputs = tried(tmp_path, served)
    found = offer(outputs.report, "undo_transform")
    assert found.accepted, found.why
    assert found.after.value > 0.9
    made = loaded(outputs.offers / "undo_transform", tensors=served(CLEAN["real"][:5]))["answer"]
    np.testing.assert_allclose(made, CLEAN["real"][:5], rtol=1e-3, atol=1e-3)


def test_steps_are_preferred_to_a_transform_that_answers_alike(tmp_path, module):
    report = tried(tmp_path, lambda x: np.swapaxes(x, 1, 2).copy()).report
    assert offer(report, "reference_steps").accepted
    twin = next(one for one in report.not_offered if one.kind == "undo_transform")
    assert "answers as `reference_steps`" in twin.why


def dimmed(x):
    """Light of the field, that both sides see."""
    return np.asarray(0.3 * x - 2, np.float32)


def test_statistics_and_inputs_are_brought_to_the_field(tmp_path, module):
    outputs = tried(tmp_path, dimmed, equal=True)
    report = outputs.report
    refreshed = offer(report, "refresh_statistics")
    assert refreshed.fitted == 0, "no label is used"
    assert refreshed.before.value < 0.8 < refreshed.after.value
    assert refreshed.gain.low > 0
    assert not refreshed.accepted
    assert refreshed.why == "Simulation may get worse by more than the margin."
    weights = loaded(outputs.offers / "refresh_statistics")
    assert {"norm.running_mean", "norm.running_var"} <= set(weights)
    rows = dimmed(CLEAN["real"])[np.arange(ROWS) % 24 % 3 == 1].reshape(-1, SIDE * SIDE)
    np.testing.assert_allclose(weights["norm.running_mean"], rows.mean(axis=0), atol=1e-4)
    aligned = next((one for one in report.offers if one.kind == "align_inputs"), None)
    if aligned is not None:
        made = loaded(outputs.offers / "align_inputs", tensors=dimmed(CLEAN["real"]))["answer"]
        assert made.mean() == pytest.approx(CLEAN["sim"].mean(), abs=0.1)


def test_the_last_layer_is_fitted_and_its_weights_answer_the_same_elsewhere(tmp_path, module):
    module.build = lambda _folder: net(off=25.0)
    outputs = tried(tmp_path, lambda x: x, equal=True, off=25.0)
    found = offer(outputs.report, "last_layer")
    assert found.accepted, found.why
    assert found.before.value < 0.6
    weights = loaded(outputs.offers / "last_layer")
    assert set(weights) == {"last.weight", "last.bias"}
    model = net(off=25.0)
    state = {name: torch.from_numpy(array) for name, array in weights.items()}
    model.load_state_dict(state, strict=False)
    prove = np.arange(ROWS) % 24 % 3 == 2
    with torch.no_grad():
        answers = model(torch.from_numpy(CLEAN["real"][prove])).numpy().argmax(axis=1)
    assert (answers == LABELS["real"][prove]).mean() == pytest.approx(found.after.value)
