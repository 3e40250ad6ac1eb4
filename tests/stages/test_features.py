"""The layer where a planted shift begins is named; without a shift none is."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sides.case_code import CaseCodeError
from stages.activations import MAX_WIDTH, collect
from stages.features import FeaturesParams, Inputs, Outputs, run
from stages.reports.features import FeaturesReport
from stages.stage import NotApplicable, to_json


class Gate(nn.Module):
    """Sees of its second half only what is above 3: a rare event on its own."""

    def forward(self, rows):
        return torch.relu(rows[:, 4:] - 3)


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.head = nn.Linear(4, 2)

    def forward(self, rows):
        return self.head(self.gate(rows))


@pytest.fixture
def model(monkeypatch):
    """Put a module `toy_model` in place of the case's own code."""
    made = {"model": Toy()}
    module = type(sys)("toy_model")
    module.build = lambda _folder: made["model"]
    monkeypatch.setitem(sys.modules, "toy_model", module)
    torch.manual_seed(0)
    return made


def examine(
    tmp_path: Path, sim, real, layers=("gate", "head"), *, groups=None, num_groups=20, **params
) -> Outputs:
    np.save(tmp_path / "sim.npy", np.asarray(sim, np.float32))
    np.save(tmp_path / "real.npy", np.asarray(real, np.float32))
    lines = ["dataset,id,row,path,label,group,role"]
    for name, rows, role in (("sim", sim, "validation"), ("real", real, "diagnose")):
        for i in range(len(rows)):
            group = f"{name}-g{i % num_groups}" if groups is None else groups
            lines.append(f"{name},{name}{i},{i},,{i % 2},{group},{role}")
    (tmp_path / "roles.csv").write_text("\n".join(lines) + "\n")
    given = {"num_permutations": 199, "device": "cpu", "layers": list(layers)} | params
    return run(
        FeaturesParams(model="toy_model:build", **given),
        Inputs(
            model=tmp_path,
            sim=tmp_path / "sim.npy",
            real=tmp_path / "real.npy",
            roles=tmp_path / "roles.csv",
        ),
        tmp_path,
    )


def normal(seed: int, rows: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, 8))


def test_no_layer_is_accused_where_nothing_differs(tmp_path, model):
    report = examine(tmp_path, normal(1), normal(2)).report
    assert isinstance(report, FeaturesReport)
    assert report.begins_at is None
    assert [layer.layer for layer in report.layers] == ["input", "gate", "head"]


def test_a_shift_of_the_input_begins_at_the_input(tmp_path, model):
    real = normal(2)
    real[:, 0] += 2  # the gate does not look there
    report = examine(tmp_path, normal(1), real).report
    assert report.begins_at == "input"
    by_name = {layer.layer: layer for layer in report.layers}
    assert by_name["gate"].p_holm > 0.05


def test_a_gap_that_only_a_layer_brings_out_begins_at_that_layer(tmp_path, model):
    class Loud(nn.Module):
        def forward(self, rows):
            return 50 * rows[:, 4:].pow(4)

    model["model"].gate = Loud()
    sim, real = normal(1, 400), normal(2, 400)
    sim[:, :4] *= 30
    real[:, :4] *= 30  # drowns the rest of the input
    real[:, 4:] *= 2
    report = examine(tmp_path, sim, real).report
    assert report.begins_at == "gate"


def test_the_same_run_writes_the_same_bytes(tmp_path, model):
    first = examine(tmp_path, normal(1), normal(2) + 1)
    second = examine(tmp_path, normal(1), normal(2) + 1)
    assert to_json(first.report) == to_json(second.report)
    assert (first.layers, first.projection) == (second.layers, second.projection)
    lines = first.projection.splitlines()
    assert lines[0] == "domain,label,x,y"
    assert len(lines) == 401


def test_rows_that_are_not_finite_are_counted_and_not_compared(tmp_path, model):
    real = normal(2)
    real[3, 0] = np.nan
    report = examine(tmp_path, normal(1), real).report
    assert (report.num_real, report.num_not_finite) == (199, 1)


def test_groups_too_few_for_any_verdict_are_said_to_be_so(tmp_path, model):
    """Two groups against two: six deals, so that no p is below 1/3, however far apart they are."""
    report = examine(tmp_path, normal(1), normal(2) + 9, num_groups=2).report
    assert (report.begins_at, report.can_tell) == (None, False)
    assert examine(tmp_path, normal(1), normal(2) + 9).report.can_tell


def test_the_row_cap_holds(tmp_path, model):
    report = examine(tmp_path, normal(1), normal(2), max_rows=50).report
    assert (report.num_sim, report.num_real) == (50, 50)


@pytest.mark.parametrize(
    ("given", "built", "says"),
    [
        pytest.param({"layers": ()}, None, "lists no reference.layers", id="no layers"),
        pytest.param({}, lambda rows: rows, "no torch module", id="no torch"),
        pytest.param({"groups": "one"}, None, "fewer than 2 groups", id="one group a side"),
    ],
)
def test_what_cannot_be_compared_says_why(tmp_path, model, given, built, says):
    model["model"] = built or model["model"]
    outputs = examine(tmp_path, normal(1), normal(2), **given)
    assert isinstance(outputs.report, NotApplicable)
    assert says in outputs.report.not_applicable
    assert outputs.layers == "layer,effect,p_holm\n"


def test_an_unknown_layer_is_answered_with_those_that_exist(tmp_path, model):
    with pytest.raises(CaseCodeError, match=r"no conv9. It has: gate, head"):
        examine(tmp_path, normal(1), normal(2), ["conv9"])


def test_a_layer_that_does_not_run_is_named(tmp_path, model):
    model["model"].spare = nn.Linear(2, 2)
    with pytest.raises(CaseCodeError, match="spare does not run"):
        examine(tmp_path, normal(1), normal(2), ["spare"])


def test_pictures_are_pooled_and_in_place_layers_do_not_overwrite_what_was_seen():
    model = nn.Sequential(
        nn.Conv2d(1, 600, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(2)
    )
    model(torch.zeros(1, 1, 6, 6))
    tensors = np.random.default_rng(0).normal(size=(5, 1, 6, 6)).astype(np.float32)
    rows = np.array([0, 2, 4])
    found = collect(model, ["0", "1"], tensors, rows, batch=2, device="cpu")
    assert {name: layer.shape for name, layer in found.items()} == {
        "input": (3, 36),
        "0": (3, MAX_WIDTH),
        "1": (3, MAX_WIDTH),
    }
    assert found["0"].min() < 0 <= found["1"].min()
    whole = model[0](torch.from_numpy(tensors[rows])).mean(dim=(2, 3)).detach().numpy()
    np.testing.assert_allclose(found["0"][:, [0, -1]], whole[:, [0, -1]], atol=1e-6)


def test_without_pictures_no_sample_has_a_point(tmp_path, model):
    rows = np.random.default_rng(0).normal(size=(60, 8))
    told = examine(tmp_path, rows, rows + 1)
    kept = examine(tmp_path, rows, rows + 1, pictures="none")
    assert len(told.projection.splitlines()) == 121
    assert kept.projection == "domain,label,x,y\n"
    assert to_json(kept.report) == to_json(told.report)
