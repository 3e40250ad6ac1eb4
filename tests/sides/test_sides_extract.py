"""Layers that several processes read are those that one reads."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sides import case_code, extract, layers, predict
from sides.case_code import CaseCodeError
from sides.model import opened
from sides.tensors import RowReader

MODEL = """
import torch
from torch import nn

def build(folder):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                         nn.Linear(4 * 36, 10))

def no_module(folder):
    return lambda batch: batch.reshape(len(batch), -1)
"""
NAMES = ["0", "4"]


@pytest.fixture
def given(tmp_path, monkeypatch):
    code = tmp_path / "code"
    code.mkdir()
    (code / "extracted_model.py").write_text(MODEL)
    monkeypatch.setattr("sys.path", [*sys.path])
    case_code.look_in([str(code)])
    rows = np.random.default_rng(0).normal(size=(23, 1, 8, 8)).astype(np.float32)
    np.save(tmp_path / "sim.npy", rows)
    np.save(tmp_path / "real.npy", rows[:3] + 1)
    yield tmp_path
    case_code.FOLDERS.clear()


def stated(folder: Path, function: str = "build") -> dict[str, object]:
    call = f"extracted_model:{function}"
    return {"stated": call, "where": "reference.model", "weights": folder, "device": "cpu"}


SETS = {"sim": [0, 2, *range(5, 23)], "real": [0, 1, 2]}


def launched(folder: Path, model: dict[str, object], ranks: int) -> Path:
    made = folder / f"by-{ranks}"
    made.mkdir()
    sets = {name: (folder / f"{name}.npy", rows) for name, rows in SETS.items()}
    extract.launch(made, model, NAMES, sets, batch=4, ranks=ranks)
    return made


@pytest.mark.slow
def test_two_processes_write_what_one_does(given):
    alone = given / "alone"
    alone.mkdir()
    sets = {name: (RowReader(given / f"{name}.npy"), rows) for name, rows in SETS.items()}
    with opened("extracted_model:build", "reference.model", given, "cpu") as model:
        layers.record(alone, model.reading, NAMES, sets, batch=4, what=model.what)
    made = launched(given, stated(given), 2)
    assert sorted(path.name for path in made.iterdir()) == sorted(
        path.name for path in alone.iterdir()
    )
    for path in alone.glob("*.npy"):
        assert np.load(path).tobytes() == np.load(made / path.name).tobytes(), path.name
    told = [json.loads((at / "layers.json").read_text()) for at in (alone, made)]
    assert told[0] == told[1]


@pytest.fixture
def here(monkeypatch):
    """Ranks run in this process: torchrun takes its time."""

    def run(command, **_):
        return subprocess.CompletedProcess(command, extract.main(command[-1]))

    monkeypatch.setattr(extract.subprocess, "run", run)
    monkeypatch.setattr(extract.privacy, "begin", lambda *_, **__: None)


@pytest.mark.usefixtures("here")
def test_a_model_without_layers_says_so_and_leaves_nothing(given):
    with pytest.raises(layers.NoLayers, match="no torch module"):
        launched(given, stated(given, "no_module"), 1)
    assert list((given / "by-1").iterdir()) == []


@pytest.mark.usefixtures("here")
def test_a_model_that_is_not_there_is_named(given):
    with pytest.raises(CaseCodeError, match="has no function nobody"):
        launched(given, stated(given, "nobody"), 1)


@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("num_rows", [0, 1, 4, 5, 23, 64])
def test_shares_are_whole_batches_that_cover_all_rows_once(num_rows, world):
    shares = [extract.share(num_rows, 4, rank, world) for rank in range(world)]
    assert [row for start, stop in shares for row in range(start, stop)] == [*range(num_rows)]
    assert all(start % 4 == 0 or start == num_rows for start, _ in shares)


def test_gpus_share_the_work_of_a_torch_module_where_they_are_asked_for(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    module = torch.nn.ReLU()
    assert extract.num_devices("auto", module) == 4
    assert extract.num_devices("cpu", module) == 1
    with pytest.warns(DeprecationWarning, match="deprecated"):
        scripted = torch.jit.script(module)
    assert extract.num_devices("auto", scripted) == 1
    assert extract.num_devices("auto", lambda batch: batch) == 1


@pytest.mark.usefixtures("here")
def test_predict_reads_on_all_gpus_where_there_are_several(given, monkeypatch):
    monkeypatch.setattr(extract, "num_devices", lambda *_: 1)
    params = {"layers": NAMES, "batch": 4, "device": "cpu", "model": "extracted_model:build"}
    files = {name: (given / f"{name}.npy", rows) for name, rows in SETS.items()}
    origin = {"where": "reference.model", "weights": given}
    for ranks, folder in ((1, given / "one"), (2, given / "several")):
        folder.mkdir()
        monkeypatch.setattr(extract, "num_devices", lambda *_, ranks=ranks: ranks)
        with opened("extracted_model:build", "reference.model", given, "cpu") as model:
            predict._record(params, files, folder, model, origin)
    for path in (given / "one").iterdir():
        assert path.read_bytes() == (given / "several" / path.name).read_bytes()
