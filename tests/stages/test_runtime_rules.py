"""Faults of postprocessing and of the form of outputs, and models in other files."""

import warnings

import pytest
import runtime_world as world

torch = pytest.importorskip("torch")

RULES = """
def plain(raw):
    return raw.argmax(1)

def later(raw):
    return raw.argmax(1) + 1

def exchanged(raw):
    return np.array([1, 0, 2, 4, 3])[raw.argmax(1)]

def shares(raw):
    raised = np.exp(raw - raw.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)

def sure(raw, least=0.6):
    found = shares(raw)
    return np.where(found.max(1) >= least, found.argmax(1), 0)

def surer(raw):
    return sure(raw, 0.9)

def doubled(folder):
    net = load(folder).eval()
    return lambda batch: shares(net(torch.from_numpy(batch)).detach().numpy())

def hotter(folder):
    net = load(folder).eval()
    return lambda batch: 0.4 * net(torch.from_numpy(batch)).detach().numpy()

def two(folder):
    net = load(folder).eval()
    return lambda batch: net(torch.from_numpy(batch)).detach().numpy()[:, :2] * 0.3

def alarm(raw, least=0.6):
    return (shares(raw)[:, 1] > least).astype(int)

def copied(raw):
    return alarm(raw, 0.85)

def twice(raw):
    return (shares(shares(raw))[:, 1] > 0.6).astype(int)

def unsure(raw):
    order = np.argsort(raw, axis=1)
    return np.where(shares(raw).max(1) > 0.9, order[:, -1], order[:, -2])

def doubly(raw):
    return np.where(shares(shares(raw)).max(1) >= 0.3, raw.argmax(1), 0)

def singly(raw):
    return np.where(shares(raw).max(1) >= 0.3, raw.argmax(1), 0)

def turned_round(raw):
    return (-raw[:, 0] > 0.6).astype(int)

def never_squashed(raw):
    return (raw[:, 1] - raw[:, 0] > 0.6).astype(int)
"""


def examined(tmp_path, monkeypatch, candidate="toy_net:build", rules=(None, None), **over):
    world.make(tmp_path, monkeypatch, RULES)
    named = tuple(rule and f"toy_net:{rule}" for rule in rules)
    return world.examine(tmp_path, candidate, rules=named, **over)


@pytest.mark.parametrize(
    ("rules", "kind", "says"),
    [
        pytest.param(("plain", "later"), "label_map", "all labels are greater by 1", id="offset"),
        pytest.param((None, "exchanged"), "label_map", "0 as 1, 1 as 0, 3 as 4", id="exchange"),
        pytest.param(("sure", "surer"), "threshold", "0.90 instead of 0.60", id="threshold"),
        pytest.param(("singly", "doubly"), "softmax_doubled", "twice", id="softmax twice"),
        pytest.param((None, "unsure"), "unknown", "other labels", id="the second best"),
    ],
)
def test_another_rule_is_named(tmp_path, monkeypatch, rules, kind, says):
    report = examined(tmp_path, monkeypatch, rules=rules)
    [found] = report.suspects
    assert (found.component, found.kind) == ("postprocessing", kind)
    assert says in found.title
    assert report.same_postprocess is False
    assert report.outputs.relation == "equal"


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        pytest.param(("alarm", "copied"), "threshold", id="threshold"),
        pytest.param(("alarm", "twice"), "softmax_doubled", id="softmax twice"),
        pytest.param(("alarm", "never_squashed"), "softmax_missing", id="no softmax"),
        pytest.param(("alarm", "turned_round"), "softmax_missing", id="one raw output"),
    ],
)
def test_a_rule_of_two_classes_is_known_by_its_threshold(tmp_path, monkeypatch, rules, kind):
    report = examined(tmp_path, monkeypatch, "toy_net:two", rules, reference="toy_net:two")
    assert [one.kind for one in report.suspects] == [kind]


@pytest.mark.parametrize(
    ("model", "kind"), [("doubled", "softmax_doubled"), ("hotter", "temperature")]
)
def test_the_form_of_outputs_is_named(tmp_path, monkeypatch, model, kind):
    report = examined(tmp_path, monkeypatch, f"toy_net:{model}", ("sure", "sure"))
    [found] = report.suspects
    assert (found.component, found.kind) == ("postprocessing", kind)
    assert found.explained > 0.99


def test_the_same_rule_written_otherwise_is_suspected_of_nothing(tmp_path, monkeypatch):
    report = examined(tmp_path, monkeypatch, rules=(None, "plain"))
    assert report.suspects == []
    assert report.same_postprocess is True


def saved(tmp_path, kind, change=None):
    """Write the reference's model as a file of a runtime; return the folder."""
    import toy_net

    net = toy_net.build(tmp_path / "model").eval()
    if change is not None:
        net = change(net)
    into = tmp_path / "file"
    into.mkdir()
    example = torch.zeros(5, 1, 9, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "torchscript":
            torch.jit.save(torch.jit.trace(net, example, check_trace=False), str(into / "net.pt"))
        elif kind == "exported":
            shapes = ({0: torch.export.Dim("rows")},)
            program = torch.export.export(net, (example,), dynamic_shapes=shapes)
            torch.export.save(program, str(into / "net.pt2"))
        else:
            pytest.importorskip("onnxruntime")
            pytest.importorskip("onnxscript", reason="torch writes ONNX with onnxscript")
            torch.onnx.export(net, (example,), into / "net.onnx", dynamo=True)
    return into


@pytest.mark.parametrize("kind", ["torchscript", "exported", "onnx"])
def test_the_same_model_in_another_file_is_suspected_of_nothing(tmp_path, monkeypatch, kind):
    world.make(tmp_path, monkeypatch, RULES)
    report = world.examine(tmp_path, (kind, saved(tmp_path, kind)))
    assert report.suspects == []
    assert report.weights == "same"
    assert report.outputs.relation == "equal"
    if kind == "exported":
        assert "conv2" in [pair.layer for pair in report.layers]
    if kind == "torchscript":
        assert "calls no hooks" in report.why_no_layers


def test_a_trace_of_a_training_model_answers_in_training_mode(tmp_path, monkeypatch):
    world.make(tmp_path, monkeypatch, RULES)
    folder = saved(tmp_path, "torchscript", lambda net: net.train())
    report = world.examine(tmp_path, ("torchscript", folder))
    assert [one.kind for one in report.suspects] == ["train_mode"]


def test_a_quantised_layer_is_told_by_its_weights(tmp_path, monkeypatch):
    extra = (
        "def planted(folder):\n"
        "    net = load(folder).eval()\n"
        "    return torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, torch.qint8)\n"
    )
    world.make(tmp_path, monkeypatch, RULES + extra)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = world.examine(tmp_path, "toy_net:planted")
    assert [one.kind for one in report.suspects] == ["quantised_weights"]
    assert report.weights == "quantised"


def test_a_program_shows_outputs_alone(tmp_path, monkeypatch):
    world.make(tmp_path, monkeypatch, RULES)
    code = tmp_path / "code/infer"
    code.write_text(
        "#!/usr/bin/env python3\n"
        "import io, sys\nimport numpy as np\n"
        "given = sys.stdin.buffer\n"
        "while given.peek(1):\n"
        "    np.lib.format.read_magic(given)\n"
        "    shape, _, dtype = np.lib.format.read_array_header_1_0(given)\n"
        "    batch = np.frombuffer(given.read(int(np.prod(shape)) * dtype.itemsize), dtype)\n"
        "    answer = io.BytesIO()\n"
        "    np.save(answer, batch.reshape(shape).reshape(shape[0], -1)[:, :5] * 3)\n"
        "    sys.stdout.buffer.write(answer.getvalue())\n"
        "    sys.stdout.buffer.flush()\n"
    )
    code.chmod(0o755)
    report = world.examine(tmp_path, {"command": ["infer"]})
    [found] = report.suspects
    assert found.component == "model"
    assert report.weights in {"unknown", "same"}
    assert "A program does not show its layers" in report.why_no_layers
    assert not any(one.error for one in report.invariance[1].arrangements)
