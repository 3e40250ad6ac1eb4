"""A few labels: what a fit buys, when nobody can say, and which way pre-training pulls."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from stages.finetune import Finetune, Recipe
from stages.probe import Inputs, Outputs, ProbeParams, run
from stages.reports.parity import ParityAnswer, ParityReport
from stages.reports.probe import ProbeReport
from stages.stage import NotApplicable, to_json

CLASSES = 4
WIDTH = 40
NO_PARITY = NotApplicable(not_applicable="one side only")
SIM = np.random.default_rng(2).normal(size=(60, WIDTH)).astype(np.float32)
DIRECTIONS = np.random.default_rng(9).normal(size=(CLASSES, WIDTH)).astype(np.float32)


def parity(*, passed: bool) -> ParityReport:
    return ParityReport(
        chain=[],
        first_differing_step=None if passed else "decode",
        own=[],
        passed=passed,
        atol=0.0,
        rows=[],
        worst=[],
    )


def toy(weights: float) -> nn.Module:
    """A hidden layer that already knows the classes (1), knows nothing (0), or is dead (-1)."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    with torch.no_grad():
        if weights > 0:
            for unit in range(32):
                model[0].weight[unit] = torch.from_numpy(DIRECTIONS[unit % CLASSES])
        if weights < 0:
            model[0].bias.fill_(-1000.0)
    return model


@pytest.fixture
def model(monkeypatch):
    """Put a module `toy_model` in place of the case's own code."""
    made = {"model": toy(1)}
    module = type(sys)("toy_model")
    module.build = lambda _folder: made["model"]
    module.rename = lambda outputs: (outputs.argmax(axis=1) + 1) % CLASSES
    module.threshold = lambda outputs: np.zeros(len(outputs), np.int64)
    monkeypatch.setitem(sys.modules, "toy_model", module)
    return made


def examine(
    tmp_path: Path,
    *,
    rows=400,
    written=None,
    parity: ParityAnswer = NO_PARITY,
    offset=0,
    sim_rows=1,
    **params,
) -> Outputs:
    generator = np.random.default_rng(1)
    truth = np.arange(rows) // 2 % CLASSES
    real = generator.normal(size=(rows, WIDTH)) * 3 + DIRECTIONS[truth]
    np.save(tmp_path / "real.npy", real.astype(np.float32))
    written = (truth + offset) % CLASSES if written is None else written
    lines = ["dataset,id,row,path,label,group,role"]
    lines += [f"sim,s{i},{i},,{i % CLASSES},g,validation" for i in range(sim_rows)]
    for i, label in enumerate(written):
        lines.append(f"real,r{i},{i},,{label},g{i % 40},{'fit' if i % 2 else 'diagnose'}")
    (tmp_path / "roles.csv").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "sim.npy", (SIM * 3 + DIRECTIONS[np.arange(60) % CLASSES])[:sim_rows])
    given = {"labels": [20, 40], "resamples": 3, "steps": 30, "device": "cpu"} | params
    given = {"ladder": [], "ladder_deep": []} | given
    return run(
        ProbeParams(model="toy_model:build", classes=CLASSES, **given),
        Inputs(
            model=tmp_path,
            sim=tmp_path / "sim.npy",
            real=tmp_path / "real.npy",
            roles=tmp_path / "roles.csv",
            parity=parity,
        ),
        tmp_path,
    )


def test_pretraining_that_knows_the_classes_helps(tmp_path, model):
    outputs = examine(tmp_path)
    report = outputs.report
    assert isinstance(report, ProbeReport)
    assert report.pretraining == "helps", report.pretraining_effect
    assert report.pretraining_effect.low > 0
    assert len(report.points) == 6
    assert len(outputs.curve.splitlines()) == 7


def test_pretraining_that_killed_the_hidden_layer_hurts(tmp_path, model):
    model["model"] = toy(-1)
    report = examine(tmp_path).report
    assert report.pretraining == "hurts", report.pretraining_effect


def test_pretraining_that_is_a_fresh_start_is_undecided(tmp_path, model):
    model["model"] = toy(0)
    assert examine(tmp_path).report.pretraining == "undecided"


def test_the_same_run_writes_the_same_bytes(tmp_path, model):
    first = examine(tmp_path)
    model["model"] = toy(1)
    second = examine(tmp_path)
    assert to_json(first.report) == to_json(second.report)
    assert first.curve == second.curve


@pytest.mark.parametrize(
    ("params", "says"),
    [
        pytest.param({"parity": parity(passed=False)}, "differs from `decode` on", id="parity"),
        pytest.param({"written": [0] * 400}, "has label 1, 2, 3", id="classes missing"),
        pytest.param({"rows": 30}, "15 real rows have role fit", id="too few"),
        pytest.param({"postprocess": "toy_model:threshold"}, "more than rename", id="threshold"),
    ],
)
def test_where_the_question_does_not_apply_it_says_why(tmp_path, model, params, says):
    outputs = examine(tmp_path, **params)
    assert isinstance(outputs.report, NotApplicable)
    assert says in outputs.report.not_applicable
    assert outputs.curve == "labels,kind,level,low,high\n"


LADDER = {"ladder": [10, 40], "ladder_deep": [40], "sim_rows": 60}


def test_the_ladder_holds_every_kind_beside_the_same_kind_on_labels_of_simulation(tmp_path, model):
    report = examine(tmp_path, **LADDER).report
    found = {(rung.kind, rung.labels) for rung in report.ladder}
    cheap = {(kind, size) for kind in ("bias", "temperature", "last_layer") for size in (10, 40)}
    deep = {(kind, 40) for kind in ("first_block", "lp_ft", "whole_model", "scratch")}
    of_the_curve = {("whole_model", 20), ("scratch", 20)}
    assert found == cheap | deep | of_the_curve
    assert set(report.not_probed) == {"bn_statistics"}
    for rung in report.ladder:
        assert rung.gain.value == pytest.approx(rung.real.value - report.baseline.value)
        assert (rung.sim is None) == ((rung.kind, rung.labels) in of_the_curve)
        if rung.sim is not None:
            added = rung.real.value - rung.sim.value
            assert rung.labels_gain.value == pytest.approx(added, abs=0.05)
    still = {rung.gain.value for rung in report.ladder if rung.kind == "temperature"}
    assert still == {0.0}, "a temperature changes no answer"
    known = {(point.kind, point.labels): point.level for point in report.points}
    again = {(rung.kind, rung.labels): rung.real for rung in report.ladder}
    assert again["last_layer", 40] == known["last_layer", 40], "what is known is not fitted again"


def test_what_labels_of_simulation_do_as_well_is_told_from_what_real_labels_buy(tmp_path, model):
    model["model"] = toy(0)  # it knows nothing, and simulation would teach it the same
    wide = {"sim_rows": 60, "ladder": [40], "ladder_deep": [40], "steps": 60}
    said = {rung.kind: rung.says for rung in examine(tmp_path, **wide).report.ladder}
    assert said["whole_model"] == "the probe helps anyway"

    # In the field the labels mean something else.
    swapped = np.array([1, 0, 3, 2])[np.arange(400) // 2 % CLASSES]
    model["model"] = toy(0)
    said = {
        rung.kind: rung.says for rung in examine(tmp_path, written=swapped, **wide).report.ladder
    }
    assert said["whole_model"] == "labels help"


def test_without_enough_labels_of_simulation_nobody_can_tell_the_two_apart(tmp_path, model):
    report = examine(tmp_path, ladder=[40], sim_rows=4).report
    assert all(rung.sim is None and rung.labels_gain is None for rung in report.ladder)
    assert {rung.says for rung in report.ladder} <= {"undecided", "hurts"}


def test_refreshed_statistics_are_those_of_the_rows_and_need_no_label():
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 3))
    rows = np.random.default_rng(0).normal(5, 2, (300, 6)).astype(np.float32)
    finetune = Finetune(model, Recipe(steps=5, batch=10), "cpu")
    finetune.fit("bn_statistics", rows, np.zeros(300, np.int64), learning_rate=0.1, seed=0)
    state = model.state_dict()
    np.testing.assert_allclose(state["0.running_mean"], rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(state["0.running_var"], rows.var(axis=0, ddof=1), rtol=1e-4)
    assert torch.equal(state["1.weight"], finetune.own["1.weight"])
    assert model[0].momentum == 0.1


@pytest.mark.parametrize(
    ("kind", "fitted"),
    [
        ("first_block", {"0.weight", "0.bias"}),
        ("lp_ft", {"0.weight", "0.bias", "2.weight", "2.bias"}),
    ],
)
def test_each_kind_fits_its_own_part(kind, fitted):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    before = {key: value.clone() for key, value in model.state_dict().items()}
    rows = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)
    finetune = Finetune(model, Recipe(steps=6, batch=10), "cpu")
    finetune.fit(kind, rows, np.arange(30) % 3, learning_rate=0.1, seed=0)
    state = model.state_dict().items()
    assert {key for key, value in state if not torch.equal(value, before[key])} == fitted


def test_parity_that_holds_is_no_obstacle(tmp_path, model):
    assert isinstance(examine(tmp_path, parity=parity(passed=True)).report, ProbeReport)


def test_no_torch_module_is_not_fitted(tmp_path, model):
    model["model"] = lambda rows: rows
    assert "no torch module" in examine(tmp_path).report.not_applicable


def test_a_label_map_after_the_model_is_followed(tmp_path, model):
    report = examine(tmp_path, offset=1, postprocess="toy_model:rename").report
    plain = examine(tmp_path).report
    assert report.points[-1].level.value == pytest.approx(plain.points[-1].level.value, abs=0.1)


def test_the_last_layer_probe_freezes_batch_norm_and_all_but_the_last_layer():
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 5), nn.Dropout(0.5), nn.Linear(5, 3))
    before = {key: value.clone() for key, value in model.state_dict().items()}
    rows = np.random.default_rng(0).normal(5, 2, (30, 6)).astype(np.float32)
    finetune = Finetune(model, Recipe(steps=5, batch=10), "cpu")
    finetune.fit("last_layer", rows, np.arange(30) % 3, learning_rate=0.1, seed=0)
    changed = {
        key for key, value in model.state_dict().items() if not torch.equal(value, before[key])
    }
    assert changed == {"3.weight", "3.bias"}
    finetune.fit("whole_model", rows, np.arange(30) % 3, learning_rate=0.1, seed=0)
    assert not torch.equal(model.state_dict()["0.running_mean"], before["0.running_mean"])


def test_a_model_whose_last_layer_is_not_its_end_is_still_fitted():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=1))
    rows = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    targets = (rows[:, 0] > 0).astype(np.int64)
    finetune = Finetune(model, Recipe(steps=100, batch=20), "cpu")
    finetune.fit("last_layer", rows, targets, learning_rate=0.1, seed=0)
    assert (finetune.outputs(rows).argmax(axis=1) == targets).mean() > 0.95


SLOPES = np.random.default_rng(4).normal(size=WIDTH).astype(np.float32)
SHIFT, SCALE = 20.0, 3.0  # a unit of its own, far from zero


def toy_of_numbers(*, off: float = 0.0, own_unit: bool = False) -> nn.Module:
    """A model that knows the slopes, in the targets' unit or with a layer that turns it so."""
    torch.manual_seed(0)
    last = nn.Linear(32, 1)
    body = nn.Sequential(nn.Linear(WIDTH, 32), nn.Tanh(), last)
    with torch.no_grad():
        body[0].weight.copy_(0.1 * torch.from_numpy(np.tile(SLOPES / 6, (32, 1))))
        body[0].bias.zero_()
        last.weight.fill_(60 / 6 / 32 * (1 if own_unit else SCALE))
        last.bias.fill_(off if own_unit else SHIFT + off)

    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = body

        def forward(self, rows):
            return self.body(rows) * SCALE + SHIFT

    return Turned() if own_unit else body


def examine_numbers(tmp_path: Path, *, metric="r2", **params) -> Outputs:
    generator = np.random.default_rng(1)
    real = generator.normal(size=(400, WIDTH)).astype(np.float32)
    truth = real @ SLOPES / 6 * SCALE + SHIFT + 0.2 * generator.normal(size=400)
    np.save(tmp_path / "real.npy", real)
    np.save(tmp_path / "sim.npy", real[:1])
    lines = ["dataset,id,row,path,label,group,role", "sim,s0,0,,20.5,g,validation"]
    for i, label in enumerate(truth):
        lines.append(f"real,r{i},{i},,{label:.4f},g{i % 40},{'fit' if i % 2 else 'diagnose'}")
    (tmp_path / "roles.csv").write_text("\n".join(lines) + "\n")
    given = {"labels": [20, 100], "resamples": 3, "steps": 60, "device": "cpu"} | params
    given = {"ladder": [], "ladder_deep": []} | given
    inputs = Inputs(
        model=tmp_path,
        sim=tmp_path / "sim.npy",
        real=tmp_path / "real.npy",
        roles=tmp_path / "roles.csv",
        parity=NO_PARITY,
    )
    return run(
        ProbeParams(model="toy_model:build", metric=metric, unit="K", **given), inputs, tmp_path
    )


@pytest.mark.parametrize("own_unit", [False, True], ids=["last layer in the unit", "turned after"])
def test_a_model_of_numbers_is_fitted_in_its_unit(tmp_path, model, own_unit):
    """Its bias is wrong by two: all fits mend that, and those that know the slopes stay ahead."""
    model["model"] = toy_of_numbers(off=2.0 / SCALE if own_unit else 2.0, own_unit=own_unit)
    report = examine_numbers(tmp_path).report
    assert isinstance(report, ProbeReport)
    assert report.baseline.value < 0.7
    reached = {(p.kind, p.labels): p.level.value for p in report.points}
    assert reached["last_layer", 100] > 0.9
    assert reached["whole_model", 100] > 0.9
    assert reached["scratch", 100] > 0.9  # a fresh start need not look for the mean
    assert report.learns
    assert report.pretraining_effect.value > 0.2  # at twenty labels


def test_where_the_unit_comes_in_changes_nothing(tmp_path, model):
    curves = []
    for own_unit in (False, True):
        model["model"] = toy_of_numbers(off=2.0 / SCALE if own_unit else 2.0, own_unit=own_unit)
        curves.append([p.level.value for p in examine_numbers(tmp_path).report.points])
    assert curves[0] == pytest.approx(curves[1], abs=1e-3)


def test_errors_are_positive_and_in_the_unit(tmp_path, model):
    model["model"] = toy_of_numbers(off=2.0)
    report = examine_numbers(tmp_path, metric="mae").report
    assert report.baseline.value == pytest.approx(2.0, abs=0.2)
    assert all(point.level.low >= 0 for point in report.points)
    assert report.gains(report.best)
    assert report.best.level.value < 0.6


def test_a_unit_that_postprocessing_makes_is_followed(tmp_path, model):
    module = sys.modules["toy_model"]
    module.build = lambda _folder: toy_of_numbers(own_unit=True).body
    module.in_unit = lambda outputs: outputs[:, 0] * SCALE + SHIFT
    report = examine_numbers(tmp_path, postprocess="toy_model:in_unit").report
    assert report.baseline.value > 0.9
    module.squared = lambda outputs: outputs[:, 0] ** 2
    report = examine_numbers(tmp_path, postprocess="toy_model:squared").report
    assert "more than scale its only" in report.not_applicable


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"model": "onnx"}, "a file (onnx)"),
        ({"model": {"command": ["./serve"]}}, "a program"),
        ({"image": "them/serving:3"}, "in the image them/serving:3"),
        ({"image": "base"}, "in the image base"),
    ],
)
def test_what_is_no_torch_module_is_never_a_failed_run(tmp_path, stated, says):
    (tmp_path / "roles.csv").write_text("dataset,id,row,path,label,group,role\n")
    inputs = Inputs(
        model=tmp_path,
        sim=tmp_path / "sim.npy",
        real=tmp_path / "real.npy",
        roles=tmp_path / "roles.csv",
        parity=NO_PARITY,
    )
    params = ProbeParams(**({"model": "toy_model:build", "classes": 3} | stated))
    report = run(params, inputs, tmp_path).report
    assert isinstance(report, NotApplicable)
    assert says in report.not_applicable
