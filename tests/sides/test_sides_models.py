import itertools
import json
import sys
import warnings

import numpy as np
import pytest

from sides import case_code, layers
from sides.case_code import CaseCodeError
from sides.layers import NoLayers
from sides.model import build, opened
from sides.tensors import RowReader

torch = pytest.importorskip("torch")

BATCH = np.random.default_rng(0).random((7, 1, 6, 6)).astype(np.float32)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.block = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten())
        self.head = torch.nn.Linear(64, 3)

    def forward(self, batch):
        return self.head(self.block(self.conv(batch)))


@pytest.fixture
def net(monkeypatch):
    module = type(sys)("toy_net")
    module.build = lambda _folder: Net().eval()
    monkeypatch.setitem(sys.modules, "toy_net", module)
    return Net().eval()


def quietly(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def save(net, folder, kind, rows=None):
    """Write the model as a file; `rows` fixes the size of its batch."""
    example = torch.zeros(rows or 5, 1, 6, 6)
    shapes = None if rows else ({0: torch.export.Dim("rows")},)
    if kind == "torchscript":
        quietly(lambda: torch.jit.save(torch.jit.trace(net, example), str(folder / "net.pt")))
    elif kind == "exported":
        program = quietly(lambda: torch.export.export(net, (example,), dynamic_shapes=shapes))
        quietly(lambda: torch.export.save(program, str(folder / "net.pt2")))
    else:
        write_onnx(net, folder / "net.onnx", rows or "rows")


def write_onnx(net, path, rows, kind="FLOAT"):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    floats, node = TensorProto.FLOAT, helper.make_node
    held = {name: value.detach().numpy() for name, value in net.named_parameters()}
    given = ["batch"] if kind == "FLOAT" else ["cast"]
    nodes = [] if kind == "FLOAT" else [node("Cast", ["batch"], ["cast"], to=floats)]
    nodes += [
        node("Conv", [*given, "conv.weight", "conv.bias"], ["/conv/out"]),
        node("Relu", ["/conv/out"], ["relu"]),
        node("Flatten", ["relu"], ["flat"]),
        node("Gemm", ["flat", "head.weight", "head.bias"], ["head"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("batch", getattr(TensorProto, kind), [rows, 1, 6, 6])],
        [helper.make_tensor_value_info("head", floats, [rows, 3])],
        [numpy_helper.from_array(value, name) for name, value in held.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(made, str(path))


def expected(net, batch=BATCH):
    with torch.no_grad():
        return net(torch.from_numpy(batch)).numpy()


@pytest.mark.parametrize(
    ("kind", "rows"),  # of the batch that the file fixes; a trace fixes none
    [*itertools.product(("onnx", "exported"), (None, 1, 3)), ("torchscript", None)],
)
def test_a_file_answers_as_the_model_that_it_was_made_of(net, tmp_path, kind, rows):
    save(net, tmp_path, kind, rows)
    for weights in (tmp_path, next(path for path in tmp_path.iterdir())):
        with opened(kind, "candidate.model", weights, "cpu") as model:
            assert model.what == f"candidate.model ({kind})"
            for batch in (BATCH, BATCH[:1], BATCH[:3]):
                np.testing.assert_allclose(model.ask(batch), expected(net, batch), atol=1e-6)


def test_a_graph_gets_the_type_that_it_asks_for(net, tmp_path):
    write_onnx(net, tmp_path / "net.onnx", "rows", "UINT8")
    whole = np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6)
    with opened("onnx", "candidate.model", tmp_path, "cpu") as model:
        np.testing.assert_allclose(model.ask(whole), expected(net, whole), rtol=1e-4)
        with pytest.raises(CaseCodeError, match=r"takes uint8.*does not fit: fractions"):
            model.ask(whole + 0.5)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param([], r"candidate.model: onnx: no \*.onnx in ", id="none"),
        pytest.param(["a.onnx", "b.onnx"], "several .*: a.onnx, b.onnx. Name one", id="two"),
        pytest.param(["a.onnx"], r"candidate.model \(onnx\), given a.onnx, failed", id="no graph"),
    ],
)
def test_weights_that_are_no_model_are_named(tmp_path, files, says):
    pytest.importorskip("onnxruntime")
    for name in files:
        (tmp_path / name).write_text("no graph")
    with pytest.raises(CaseCodeError, match=says):
        build("onnx", "candidate.model", tmp_path)


def test_an_image_without_the_runtime_is_told_which_has_it(tmp_path, monkeypatch):
    (tmp_path / "net.onnx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CaseCodeError, match=r"holds no onnxruntime. Use image: onnx\."):
        build("onnx", "candidate.model", tmp_path)


def read_layers(stated, weights, names, folder):
    np.save(folder / "tensors.npy", BATCH)
    into = folder / f"layers-{len(list(folder.iterdir()))}"
    into.mkdir()
    tensors = RowReader(folder / "tensors.npy")
    with opened(stated, "candidate.model", weights, "cpu") as model:
        sets = {"sim": (tensors, list(range(7))), "real": (tensors, [1, 4, 6])}
        layers.record(into, model.reading, names, sets, batch=4, what=model.what)
    return into, json.loads((into / "layers.json").read_text())


@pytest.mark.parametrize("rows", [None, 3], ids=["any batch", "three rows"])
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        pytest.param("toy_net:build", ["conv", "block.0", "head"], id="eager"),
        pytest.param("exported", ["conv", "block.0", "head"], id="exported"),
        pytest.param("onnx", ["/conv/out", "relu", "head"], id="onnx"),
    ],
)
def test_every_kind_shows_the_same_layers(net, tmp_path, kind, names, rows):
    weights = tmp_path / "weights"
    weights.mkdir()
    if ":" not in kind:
        save(net, weights, kind, rows)
    into, told = read_layers(kind, weights, names, tmp_path)
    assert told["layers"] == ["input", *names]
    assert told["why_not"] is None
    assert (told["sim"], told["real"]) == (list(range(7)), [1, 4, 6])
    with torch.no_grad():
        conv = net.conv(torch.from_numpy(BATCH)).numpy()
    for layer, answer in ((names[0], conv), (names[1], np.maximum(conv, 0))):
        stem = told["files"][layer]
        pooled = answer.reshape(7, 4, -1).mean(2)
        np.testing.assert_allclose(np.load(into / f"{stem}.sim.npy"), pooled, atol=1e-5)
        np.testing.assert_allclose(np.load(into / f"{stem}.real.npy"), pooled[[1, 4, 6]], atol=1e-5)
    np.testing.assert_array_equal(np.load(into / "input.sim.npy"), BATCH.reshape(7, -1))


@pytest.mark.parametrize("kind", ["toy_net:build", "exported", "onnx"])
def test_a_layer_that_a_model_has_not_is_answered_with_those_that_it_has(net, tmp_path, kind):
    weights = tmp_path / "weights"
    weights.mkdir()
    if ":" not in kind:
        save(net, weights, kind)
    with pytest.raises(CaseCodeError, match=r"candidate.layers: the model has no fc9. It has: .*"):
        read_layers(kind, weights, ["fc9"], tmp_path)


def test_what_shows_no_layers_says_why(net, tmp_path, monkeypatch):
    save(net, tmp_path, "torchscript")
    with pytest.raises(NoLayers, match="TorchScript runs its layers inside its own interpreter"):
        read_layers("torchscript", tmp_path, ["conv"], tmp_path)
    save(net, tmp_path, "onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(NoLayers, match="holds no package `onnx`"):
        read_layers("onnx", tmp_path, ["relu"], tmp_path)


def test_a_layer_wider_than_the_bound_keeps_evenly_spaced_columns():
    wide = np.arange(2000, dtype=np.float32)[None]
    kept = layers.pooled(wide)
    assert kept.shape == (1, layers.MAX_WIDTH)
    assert (kept[0, 0], kept[0, -1]) == (0, 1999)
    np.testing.assert_array_equal(
        kept, layers.pooled_tensor("wide", torch.from_numpy(wide)).numpy()
    )


def test_a_program_is_a_model_given_the_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(case_code, "FOLDERS", [str(tmp_path)])
    body = (
        f"#!{sys.executable}\n"
        "import io, sys, numpy as np\n"
        "weights = np.load(sys.argv[1].partition('=')[2])\n"
        "given = sys.stdin.buffer\n"
        "while given.peek(1):\n"
        "    np.lib.format.read_magic(given)\n"
        "    shape, _, dtype = np.lib.format.read_array_header_1_0(given)\n"
        "    numbers = given.read(int(np.prod(shape)) * dtype.itemsize)\n"
        "    batch = np.frombuffer(numbers, dtype).reshape(shape)\n"
        "    answer = io.BytesIO()\n"
        "    np.save(answer, batch.reshape(len(batch), -1) @ weights)\n"
        "    sys.stdout.buffer.write(answer.getvalue())\n"
        "    sys.stdout.buffer.flush()\n"
    )
    (tmp_path / "infer").write_text(body)
    (tmp_path / "infer").chmod(0o755)
    weights = np.random.default_rng(1).random((36, 2)).astype(np.float32)
    np.save(tmp_path / "weights.npy", weights)
    stated = {"command": ["infer", "--weights={weights}"]}
    with opened(stated, "candidate.model", tmp_path / "weights.npy", "cpu") as model:
        for batch in (BATCH, BATCH[:2]):
            np.testing.assert_allclose(
                model.ask(batch), batch.reshape(len(batch), -1) @ weights, rtol=1e-5
            )
        with pytest.raises(NoLayers, match="A program does not show its layers"):
            model.reading(["fc"])


@pytest.mark.parametrize(
    ("built", "differ"),
    [
        pytest.param("net", False, id="as torch makes it: it is put into evaluation mode"),
        pytest.param("net.eval()", False, id="in evaluation mode as a whole"),
        pytest.param("left(net.eval())", True, id="one layer of it left in training mode stays"),
    ],
)
def test_a_layer_that_serves_in_training_mode_answers_so_here(tmp_path, monkeypatch, built, differ):
    code = f"""
from torch import nn

def left(net):
    net[0].train()
    return net

def build(folder):
    net = nn.Sequential(nn.Dropout(0.5))
    return {built}
"""
    (tmp_path / "dropping_net.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "dropping_net", None)
    del sys.modules["dropping_net"]
    rows = np.ones((64, 32), np.float32)
    with opened("dropping_net:build", "candidate.model", tmp_path, "cpu") as model:
        assert (not np.array_equal(model.ask(rows), model.ask(rows))) == differ
        assert bool(model.training()) == differ
    del sys.modules["dropping_net"]
