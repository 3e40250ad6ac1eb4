"""Faults planted into models and rules come out under their names; harmless differences do not."""

import pytest
import runtime_world as world

torch = pytest.importorskip("torch")


def only(report):
    assert len(report.suspects) == 1, report.suspects
    return report.suspects[0]


def planted(tmp_path, monkeypatch, extra, candidate="toy_net:planted", **over):
    world.make(tmp_path, monkeypatch, extra, over.get("reference", "toy_net:build"))
    return world.examine(tmp_path, candidate, **over)


CALLED = """
def planted(folder):
    net = load(folder)
    net.eval()
    {}
    return lambda batch: net(torch.from_numpy(batch)).detach().numpy()
"""

MODELS = {
    "batch norm in training mode": ("train_mode", CALLED.format("net.bn.train()")),
    "dropout in training mode": ("train_mode", CALLED.format("net.drop.train()")),
    "everything in training mode": ("train_mode", CALLED.format("net.train()")),
    "a module that refuses to evaluate": (
        "train_mode",
        (
            "class Stuck(Net):\n    def train(self, mode=True):\n"
            "        return super().train(True)\n"
            "def planted(folder):\n    net = Stuck()\n"
            "    net.load_state_dict(torch.load(folder / 'net.pt', weights_only=True))\n"
            "    return net\n"
        ),
    ),
    "an answer that depends on the batch": (
        "batch_dependent",
        (
            "def planted(folder):\n    net = load(folder).eval()\n"
            "    def ask(batch):\n"
            "        batch = batch - batch.mean(axis=0, keepdims=True) * (len(batch) > 1)\n"
            "        return net(torch.from_numpy(batch)).detach().numpy() * len(batch) ** 0.5\n"
            "    return ask\n"
        ),
    ),
    "weights that are never loaded": (
        "weights_not_loaded",
        "def planted(folder):\n    torch.manual_seed(5)\n    return Net()\n",
    ),
    "a head that is never loaded": (
        "weights_not_loaded",
        (
            "def planted(folder):\n    net = load(folder)\n    torch.manual_seed(5)\n"
            "    net.fc.reset_parameters()\n    net.conv2.reset_parameters()\n    return net\n"
        ),
    ),
    "another rounding of the last window": (
        "operator_variant",
        "def planted(folder):\n    return load(folder, pool=nn.MaxPool2d(2, ceil_mode=True))\n",
    ),
    "another activation": (
        "operator_variant",
        "def planted(folder):\n    return load(folder, act=nn.GELU)\n",
    ),
    "another padding": (
        "operator_variant",
        (
            "def planted(folder):\n    net = load(folder)\n    net.conv.padding_mode = 'circular'\n"
            "    net.conv._reversed_padding_repeated_twice = [1, 1, 1, 1]\n    return net\n"
        ),
    ),
    "a batch that an export fixed": (
        "batch_dependent",
        (
            "def planted(folder):\n    net = load(folder).eval()\n"
            "    def ask(batch):\n"
            "        made = net(torch.from_numpy(batch)).detach().numpy()\n"
            "        return np.concatenate([made[:32], made[:1].repeat(len(made[32:]), 0)])\n"
            "    return ask\n"
        ),
    ),
    "a buffer in another order": (
        "unknown",
        (
            "def planted(folder):\n    net = load(folder)\n"
            "    net.conv2.register_forward_hook(lambda part, given, out: out.roll(3, 1))\n"
            "    return net\n"
        ),
    ),
    "three bits of a mantissa": (
        "reduced_precision",
        (
            "def coarse(part, given, out):\n"
            "    mantissa, power = torch.frexp(out)\n"
            "    return torch.ldexp(torch.round(mantissa * 8) / 8, power)\n"
            "def planted(folder):\n    net = load(folder)\n"
            "    for part in (net.conv, net.bn, net.conv2, net.fc):\n"
            "        part.register_forward_hook(coarse)\n"
            "    return net\n"
        ),
    ),
    "halves": (
        "reduced_precision",
        CALLED.replace(
            "torch.from_numpy(batch)).detach()", "torch.from_numpy(batch).half()).detach().float()"
        ).format("net.half()"),
    ),
    "bfloat16": (
        "reduced_precision",
        CALLED.replace(
            "torch.from_numpy(batch)).detach()",
            "torch.from_numpy(batch).bfloat16()).detach().float()",
        ).format("net.bfloat16()"),
    ),
    "int8": (
        "quantised_weights",
        (
            "def planted(folder):\n    net = load(folder)\n    with torch.no_grad():\n"
            "        for value in net.parameters():\n"
            "            step = value.abs().max() / 127\n"
            "            value.copy_((value / step).round() * step)\n    return net\n"
        ),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_fault_of_the_model_is_named(tmp_path, monkeypatch, name):
    kind, extra = MODELS[name]
    report = planted(tmp_path, monkeypatch, extra)
    found = only(report)
    assert (found.component, found.kind) == ("model", kind), found
    if name == "three bits of a mantissa":
        return
    if kind not in ("reduced_precision", "quantised_weights"):
        assert found.cost.low > 0
    else:
        assert found.cost.value < 0.1


def test_weights_of_another_training_are_told_from_the_same_architecture(tmp_path, monkeypatch):
    world.make(tmp_path, monkeypatch)
    import toy_net

    other = tmp_path / "other"
    other.mkdir()
    with torch.no_grad():
        torch.save(toy_net.weigh(toy_net.Net(), 7).state_dict(), other / "net.pt")
    report = world.examine(tmp_path, ("toy_net:build", other))
    assert only(report).kind == "wrong_weights"
    assert report.weights == "different"
    assert report.first_layer == "conv"


def test_the_same_model_is_suspected_of_nothing(tmp_path, monkeypatch):
    report = planted(tmp_path, monkeypatch, "", "toy_net:build")
    assert report.suspects == []
    assert report.first_layer is None
    assert report.weights == "same"
    assert report.outputs.relation == "equal"
    assert report.same_postprocess is True
    assert [pair.layer for pair in report.layers] == [
        "conv", "bn", "act", "pool", "conv2", "act#2", "drop", "fc",
    ]  # fmt: skip
    assert not any(side.moved for side in report.invariance)


def test_what_leaves_the_range_of_a_half_is_an_overflow(tmp_path, monkeypatch):
    halves = CALLED.replace(
        "torch.from_numpy(batch)).detach()", "torch.from_numpy(batch).half()).detach().float()"
    )
    extra = halves.format("net.half(); net.gain = 1e5")
    report = planted(tmp_path, monkeypatch, extra, reference="toy_net:wide")
    found = only(report)
    assert found.kind == "half_precision_overflow"
    assert any("65504" in line for line in found.evidence)
