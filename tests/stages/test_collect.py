"""Facts of a side: hashes, types, code; what cannot be known says why, and nothing fails."""

import hashlib
import json

import numpy as np
import pytest
import toy as toys

from sides import collect
from sides.weights import dtypes_of
from stages.reports.collect import CollectReport
from stages.stage import read_report

STEPS = [toys.step("decode"), toys.step("scale", by=16.0)]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return toys.make(tmp_path, monkeypatch)


def run(toy, model="toy_models:build", steps=STEPS, **inputs):
    into = toy.into("out")
    params = {"image": "torch", "steps": steps, "model": model, "postprocess": None}
    given = {"model": toy.folder / "model", "weights": None, "recorded": None} | inputs
    collect.run(params, given, into, "candidate")
    report = read_report(CollectReport, into / "report.json")
    assert set(json.loads((into / "report.json").read_text())) == set(CollectReport.model_fields)
    return report


def test_the_environment_is_told_package_by_package(toy):
    report = run(toy)
    assert report.packages["numpy"] == np.__version__
    assert report.python.startswith("3.")
    assert report.why_no_packages is None


def test_weights_are_known_by_their_content(toy):
    report = run(toy)
    content = (toy.folder / "model/weights.npy").read_bytes()
    assert report.weights == {"weights.npy": hashlib.sha256(content).hexdigest()}
    assert report.parameters.dtypes == {"float32": 72}


def test_each_step_names_the_file_that_defines_it(toy):
    report = run(toy)
    source = (toy.folder / "code/toy_steps.py").read_bytes()
    assert [step.file for step in report.steps] == ["toy_steps.py"] * 2
    assert report.steps[1].sha256 == hashlib.sha256(source).hexdigest()
    assert report.steps[1].args == '{"by": 16.0}'
    assert report.code["model"].file == "toy_models.py"


def test_a_program_is_found_in_the_code_folders(toy):
    (toy.folder / "code/serve.sh").write_text("cat\n")
    steps = [{"name": "all", "call": None, "command": ["sh", "serve.sh"], "args": {}}]
    report = run(toy, {"command": ["gone", "--fast"]}, steps)
    assert (report.steps[0].says, report.steps[0].file) == ("sh serve.sh", "serve.sh")
    assert (report.code["model"].says, report.code["model"].file) == ("gone --fast", None)
    assert "a program" in report.why_no_model


def test_a_model_that_cannot_be_built_is_a_reason(toy):
    report = run(toy, "toy_models:misfit")
    assert report.model is None
    assert "RuntimeError: size mismatch" in report.why_no_model
    assert report.parameters.dtypes == {"float32": 72}  # its file can still be read


def test_a_torch_model_says_what_it_computes_in(toy):
    pytest.importorskip("torch")
    (toy.folder / "code/toy_net.py").write_text(
        "import torch\n"
        "def build(folder):\n"
        "    net = torch.nn.Linear(24, 3).half()\n"
        "    net.config = {'lr': 0.1, 'net': net}\n"
        "    return net\n"
    )
    report = run(toy, "toy_net:build")
    assert report.parameters.dtypes == {"float16": 75}
    assert report.parameters.tensors == 2
    assert report.model.class_name.endswith("Linear")
    assert report.model.training
    assert report.model.config == {"lr": "0.1", "net": "(Linear)"}


def test_a_recording_says_what_it_knows(toy):
    folder = toy.folder / "recorded"
    folder.mkdir()
    report = run(toy, None, [], recorded=folder)
    assert report.recorded
    assert report.packages is None
    assert "environment.json" in report.why_no_packages
    (folder / "environment.json").write_text('{"python": "3.8.1", "packages": {"numpy": "1.19"}}')
    (toy.folder / "out").rename(toy.folder / "before")
    report = run(toy, None, [], recorded=folder)
    assert (report.python, report.packages) == ("3.8.1", {"numpy": "1.19"})


def test_types_are_read_from_headers(tmp_path):
    st = pytest.importorskip("safetensors.numpy")
    st.save_file({"one": np.zeros((3, 4), np.float16)}, tmp_path / "w.safetensors")
    np.savez(tmp_path / "w.npz", two=np.zeros(5), three=np.zeros((2, 2), np.int8))
    (tmp_path / "notes.txt").write_text("x")
    files = [(name, tmp_path / name) for name in ("w.safetensors", "w.npz", "notes.txt")]
    found, _ = dtypes_of(files, None)
    assert sorted(found) == [("float16", 12), ("float64", 5), ("int8", 4)]
    assert dtypes_of(files[2:], None) == (None, "notes.txt: no format that is read here")


def test_a_torch_file_is_read_without_running_its_code(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"w": torch.zeros(3, dtype=torch.bfloat16)}, tmp_path / "w.pt")
    assert dtypes_of([("w.pt", tmp_path / "w.pt")], None) == ([("bfloat16", 3)], "")
