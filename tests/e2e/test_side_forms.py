"""Every form that a side may have finds the same planted fault: a picture that lies on its side."""

import csv
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from clone import SOURCE, Clone, make_clone

from containers.engine import Client

pytestmark = pytest.mark.slow

COMPILER = shutil.which("cc") or shutil.which("gcc")
FOREIGN = "assay-ci-foreign:bullseye"
TURNED = """\
  steps:
    - {name: decode, call: toy_steps:from_buffer}
    - {name: scale, call: toy_steps:scale, args: {by: 255.0}}
"""
GAIN = 10.0


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, api: str) -> Clone:
    """One workspace for all forms: the reference's own stages run once."""
    root = tmp_path_factory.mktemp("forms") / "workspace"
    root.mkdir()
    return make_clone(root, api)


def investigate(clone: Clone, candidate: str, isolation: str = "process") -> dict:
    """Put a candidate in place of the toy's, run, and return the report."""
    file = clone.root / "cases/toy/case.yaml"
    head = file.read_text().partition("candidate:")[0]
    file.write_text(f"{head}candidate:\n{candidate}")
    answer = clone.run(isolation=isolation)
    report: dict = json.loads(clone.report(answer["run"]))
    report["id"] = answer["run"]
    return report


def assert_the_fault_is_named(report: dict) -> None:
    parity, found = report["parity"], report["diagnose"]["findings"][0]
    assert parity["first_differing_step"] == "decode"
    assert parity["own"][0]["transform"]["kind"] == "transpose"
    assert found["step"] == "decode"
    assert "`decode`" in report["diagnose"]["verdict"]
    print(report["diagnose"]["verdict"])


def torch_model():
    """The toy's model as a torch module."""
    import torch

    class Toy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = torch.nn.AvgPool2d((1, 6))
            self.gain = torch.nn.Parameter(torch.tensor(GAIN))

        def forward(self, batch):
            lying = self.rows(batch)[:, :, 0].var(1, unbiased=False)
            standing = batch.mean(1).var(1, unbiased=False)
            return self.gain * torch.stack([lying, standing], 1)

    return Toy().eval()


def write_onnx(path: Path) -> None:
    """The toy's model as a graph: the variance is a mean of squares less a squared mean."""
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node
    nodes = []
    for name, axis in (("lying", 2), ("standing", 1)):
        nodes += [
            node("ReduceMean", ["batch"], [f"{name}_means"], axes=[axis], keepdims=0),
            node("Mul", [f"{name}_means", f"{name}_means"], [f"{name}_squares"]),
            node("ReduceMean", [f"{name}_squares"], [f"{name}_a"], axes=[1], keepdims=1),
            node("ReduceMean", [f"{name}_means"], [f"{name}_mean"], axes=[1], keepdims=1),
            node("Mul", [f"{name}_mean", f"{name}_mean"], [f"{name}_b"]),
            node("Sub", [f"{name}_a", f"{name}_b"], [name]),
        ]
    nodes += [
        node("Concat", ["lying", "standing"], ["both"], axis=1),
        node("Mul", ["both", "gain"], ["outputs"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("batch", TensorProto.FLOAT, ["rows", 6, 6])],
        [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, ["rows", 2])],
        [helper.make_tensor("gain", TensorProto.FLOAT, [], [GAIN])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), str(path))


@pytest.fixture
def weights(workspace: Clone) -> Path:
    folder = workspace.root / "cases/toy/weights"
    folder.mkdir(exist_ok=True)
    return folder


def test_torch_eager(workspace: Clone, weights: Path) -> None:
    import torch

    torch.save(torch_model().state_dict(), weights / "eager.pt")
    net = (
        "import torch\n\n"
        "class Toy(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.rows = torch.nn.AvgPool2d((1, 6))\n"
        "        self.gain = torch.nn.Parameter(torch.tensor(0.0))\n\n"
        "    def forward(self, batch):\n"
        "        lying = self.rows(batch)[:, :, 0].var(1, unbiased=False)\n"
        "        standing = batch.mean(1).var(1, unbiased=False)\n"
        "        return self.gain * torch.stack([lying, standing], 1)\n\n"
        "def build(folder):\n"
        "    model = Toy()\n"
        "    model.load_state_dict(torch.load(folder / 'eager.pt', weights_only=True))\n"
        "    return model\n"
    )
    (workspace.root / "cases/toy/code/toy_net.py").write_text(net)
    side = "  image: torch\n  model: toy_net:build\n  weights: weights/eager.pt\n  layers: [rows]\n"
    assert_the_fault_is_named(investigate(workspace, side + TURNED))


@pytest.mark.parametrize("runtime", ["torchscript", "exported"])
def test_a_torch_file(workspace: Clone, weights: Path, runtime: str) -> None:
    import torch

    example = torch.zeros(5, 6, 6)
    file = {"torchscript": "toy.ts", "exported": "toy.pt2"}[runtime]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        if runtime == "torchscript":
            torch.jit.save(torch.jit.trace(torch_model(), example), str(weights / file))
        else:
            rows = ({0: torch.export.Dim("rows")},)
            program = torch.export.export(torch_model(), (example,), dynamic_shapes=rows)
            torch.export.save(program, str(weights / file))
    side = f"  image: torch\n  model: {runtime}\n  weights: weights/{file}\n  layers: [rows]\n"
    assert_the_fault_is_named(investigate(workspace, side + TURNED))


def test_a_program_in_c(workspace: Clone) -> None:
    if COMPILER is None:
        pytest.skip("no C compiler here")
    page = (SOURCE / "docs/protocol.md").read_text()
    [source] = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    code = workspace.root / "cases/toy/code"
    (code / "decode.c").write_text(source)
    subprocess.run([COMPILER, "-O2", "-o", "decode", "decode.c"], cwd=code, check=True)
    steps = TURNED.replace("call: toy_steps:from_buffer", "command: [decode]")
    side = "  image: base\n  model: toy_model:build\n"
    report = investigate(workspace, f"{side}{steps}last_good:\n  like: reference\n")
    assert_the_fault_is_named(report)
    # What worked last is a third side: the program came since.
    assert report["since"]["first_differing_step"] == "decode"
    assert report["since"]["before"]["value"] > report["since"]["after"]["value"]


@pytest.fixture(scope="module")
def logged(workspace: Clone) -> Path:
    """What production logged of 250 of the 300 real rows, in no order."""
    make = "import toy_data, sys; from pathlib import Path; toy_data.make(Path(sys.argv[1]), 0)"
    made = workspace.root.parent / "made"
    code = SOURCE / "tests/e2e/toy/code"
    subprocess.run([sys.executable, "-c", make, str(made)], cwd=code, check=True)
    samples = np.load(made / "real/samples.npy").transpose(0, 2, 1).astype(np.float32)
    with (made / "real/manifest.csv").open() as file:
        ids = np.array([line["id"] for line in csv.DictReader(file)])
    order = np.random.default_rng(0).permutation(len(ids))[:250]
    ids, decoded = ids[order], samples[order]
    tensors = decoded / np.float32(255)
    outputs = GAIN * np.stack([tensors.mean(2).var(1), tensors.mean(1).var(1)], axis=1)
    folder = workspace.root / "cases/toy/logged"
    folder.mkdir()
    np.savez(folder / "tensors.npz", ids=ids, step_decode=decoded, input=tensors)
    lines = [f"{one},{o.argmax()},{o[0]},{o[1]}" for one, o in zip(ids, outputs, strict=True)]
    text = "\n".join(["id,label,output_0,output_1", *lines]) + "\n"
    (folder / "predictions.csv").write_text(text)
    return folder


@pytest.mark.parametrize("files", ["tensors and predictions", "tensors", "predictions"])
def test_what_production_logged(workspace: Clone, logged: Path, files: str) -> None:
    logs = workspace.root / "cases/toy/logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    for file in logged.iterdir():
        if file.stem in files:
            shutil.copy(file, logs)
    side = "  recorded: logs\n  steps: [{name: decode}, {name: scale}]\n"
    report = investigate(workspace, side)
    if "tensors" in files:
        assert_the_fault_is_named(report)
    else:
        assert "no tensors were logged" in report["parity"]["not_applicable"]
        print(report["diagnose"]["verdict"])


@pytest.mark.docker
def test_an_onnx_file_in_its_own_image(engine: Client, workspace: Clone, weights: Path) -> None:
    from containers import images

    images.build(engine, ["onnx", "torch"], on_progress=lambda _line: None)
    write_onnx(weights / "toy.onnx")
    side = "  image: onnx\n  model: onnx\n  weights: weights\n  layers: [lying_means]\n"
    assert_the_fault_is_named(investigate(workspace, side + TURNED, isolation="docker"))


@pytest.mark.docker
def test_functions_in_a_foreign_image(engine: Client, workspace: Clone) -> None:
    """Debian 11: Python 3.9, numpy 1.19, an entrypoint of its own, no package of ours.

    Where its packages are no longer to be had, the script takes the next release.
    """
    subprocess.run([SOURCE / ".ci/foreign_image.sh", FOREIGN], check=True)
    release = (engine.inspect_image(FOREIGN)["Config"]["Labels"] or {}).get("debian")
    side = f"  image: {FOREIGN}\n  model: toy_model:build\n"
    refused = "  like: reference\n" + side
    file = workspace.root / "cases/toy/case.yaml"
    head = file.read_text().partition("candidate:")[0]
    file.write_text(f"{head}candidate:\n{refused}")
    done = workspace.assay("run", "toy", "--isolation", "process", status=2)
    assert f"candidate.image: {FOREIGN} is an image of its own" in done.stderr
    report = investigate(workspace, side + TURNED, isolation="docker")
    assert_the_fault_is_named(report)
    record = {stage["name"]: stage for stage in workspace.record(report["id"])["stages"]}
    ran = record["preprocess-candidate"]
    assert ran["inside"]["python"].startswith("3.11." if release == "bookworm" else "3.9.")
    assert ran["image_id"] == engine.inspect_image(FOREIGN)["Id"]
    assert record["swap_steps"]["image_id"] == ran["image_id"]
    assert record["swap"]["image_id"] != ran["image_id"]
