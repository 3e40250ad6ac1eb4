"""A model's file is read for its numbers; nothing in it is run."""

import os
import pickle
import warnings
from pathlib import Path

import bait
import numpy as np
import pytest

from sides import parameters, runtimes, weights
from sides.case_code import CaseCodeError
from sides.exported_file import FORCED

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "canary"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "good.pt2"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(3, 2),))
        torch.export.save(program, str(path))
    return path


BAITED = {
    "a pickle": ("model.pt", lambda path, _, canary: path.write_bytes(bait.pickled(canary))),
    "saved by torch": (
        "model.pth",
        lambda path, _, canary: path.write_bytes(bait.saved_by_torch(canary)),
    ),
    "sample inputs of an export": ("model.pt2", bait.write_exported_with_inputs),
    "weights of an export": ("model.pt2", bait.write_exported_with_weights),
    "an array": ("model.npy", lambda path, _, canary: bait.write_npy(path, canary)),
    "arrays": ("model.npz", lambda path, _, canary: bait.write_npz(path, canary, "w")),
    "a pickle named safetensors": (
        "model.safetensors",
        lambda path, _, canary: path.write_bytes(bait.pickled(canary)),
    ),
}


def baited(kind, folder, exported, canary) -> Path:
    name, write = BAITED[kind]
    path = folder / name
    write(exported, path, canary) if name == "model.pt2" else write(path, None, canary)
    return path


@pytest.mark.parametrize("kind", BAITED)
@pytest.mark.filterwarnings("ignore")
def test_reading_weights_runs_nothing(tmp_path, canary, exported, kind):
    path = baited(kind, tmp_path, exported, canary)
    weights.dtypes_of([(path.name, path)], None)
    parameters.facts([(path.name, path)], None)
    assert not canary.exists()


@pytest.mark.parametrize("runtime", ["torchscript", "exported", "onnx"])
@pytest.mark.parametrize("kind", ["a pickle", "saved by torch", "weights of an export"])
@pytest.mark.filterwarnings("ignore")
def test_opening_a_model_runs_nothing_and_names_the_file(tmp_path, canary, exported, kind, runtime):
    path = baited(kind, tmp_path, exported, canary)
    with pytest.raises(CaseCodeError, match=rf"candidate.model.*{path.name}"):
        runtimes.load(runtime, path, "candidate.model")
    assert not canary.exists()


@pytest.mark.filterwarnings("ignore")
def test_sample_inputs_that_are_no_tensors_are_not_unpickled(tmp_path, canary, exported):
    path = baited("sample inputs of an export", tmp_path, exported, canary)
    with pytest.raises(CaseCodeError, match=r"model\.pt2"):
        runtimes.load("exported", path, "candidate.model")
    assert not canary.exists()
    assert FORCED not in os.environ


@pytest.mark.filterwarnings("ignore")
def test_an_honest_export_still_opens(exported):
    model = runtimes.load("exported", exported, "candidate.model")
    assert np.shape(model.ask(np.zeros((3, 2), np.float32))) == (3, 2)
    assert weights.dtypes_of([("good.pt2", exported)], None)[0]


@pytest.mark.parametrize("kind", BAITED)
@pytest.mark.filterwarnings("ignore")
def test_the_bait_would_bite_where_it_is_unpickled(tmp_path, canary, exported, kind):
    path = baited(kind, tmp_path, exported, canary)
    bite = {
        "model.pt": lambda: pickle.loads(path.read_bytes()),  # noqa: S301
        "model.safetensors": lambda: pickle.loads(path.read_bytes()),  # noqa: S301
        "model.pth": lambda: torch.load(path, weights_only=False),
        "model.pt2": lambda: torch.export.load(str(path)),
        "model.npy": lambda: np.load(path, allow_pickle=True),
        "model.npz": lambda: np.load(path, allow_pickle=True)["w"],
    }
    try:
        bite[path.name]()
    except Exception as error:  # noqa: BLE001  what it makes of the rest is its own affair
        print(error)
    assert canary.exists()


def write_onnx(path: Path, location: str) -> None:
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[2, 2], data_location=1)
    tensor.external_data.add(key="location", value=location)
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    ends = [onnx.helper.make_tensor_value_info(name, 1, [None, 2]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:], [tensor])
    opset = [onnx.helper.make_opsetid("", 13)]
    made = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(made.SerializeToString())


@pytest.mark.parametrize("where", ["above", "absolute", "link"])
def test_weights_outside_of_a_graphs_folder_are_not_read(tmp_path, where):
    secret, folder = tmp_path / "secret.bin", tmp_path / "model"
    folder.mkdir()
    secret.write_bytes(np.arange(4, dtype="<f4").tobytes())
    (folder / "link.bin").symlink_to(secret)
    location = {"above": "../secret.bin", "absolute": str(secret), "link": "link.bin"}[where]
    path = folder / "model.onnx"
    write_onnx(path, location)
    with pytest.raises(CaseCodeError, match=r"model\.onnx"):
        runtimes.load("onnx", path, "candidate.model")
    told = parameters.facts([(path.name, path)], None)
    assert told["digest"] is None, told
