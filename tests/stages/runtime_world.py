"""A torch case whose labels are the reference's own answers: every loss is the candidate's."""

import csv
import json

import numpy as np
import toy as toys

from sides import collect, postprocess, predict
from stages import runtime
from stages.reports.collect import CollectReport
from stages.reports.postprocess import PostprocessReport
from stages.reports.predict import Invariance, PredictReport
from stages.stage import read_report

NET = """
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, gain=1.0, act=nn.ReLU, pool=None):
        super().__init__()
        self.gain = gain
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.act = act()
        self.pool = pool or nn.MaxPool2d(2, ceil_mode=False)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(8, 5)

    def forward(self, batch):
        x = self.pool(self.act(self.bn(self.conv(batch)))) * self.gain
        x = self.act(self.conv2(x)).mean(dim=(2, 3)) / self.gain
        return self.fc(self.drop(x))

def weigh(net, seed=0):
    torch.manual_seed(seed)
    for name, value in net.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.rand_like(value) + 0.5 if "running_var" in name
                        else torch.randn_like(value) * (3.0 if "fc" in name else 0.6))
    return net

def load(folder, **over):
    net = Net(**over)
    net.load_state_dict(torch.load(folder / "net.pt", weights_only=True))
    return net

def build(folder):
    return load(folder)

def wide(folder):
    return load(folder, gain=1e5)
"""


def make(folder, monkeypatch, extra="", reference="toy_net:build"):
    """80 pictures of role diagnose, labelled by the reference; groups of four."""
    import torch

    code = folder / "code"
    code.mkdir()
    (code / "toy_net.py").write_text(NET + extra)
    toys.look_in(code, monkeypatch)
    import toy_net

    model = folder / "model"
    model.mkdir()
    generator = np.random.default_rng(0)
    plain = generator.normal(size=(160, 1, 1, 1)) + 0.3 * generator.normal(size=(160, 1, 9, 9))
    tensors = (plain * generator.uniform(0.5, 2, size=(160, 1, 1, 1))).astype(np.float32)
    np.save(folder / "tensors.npy", tensors)
    with torch.no_grad():
        net = toy_net.weigh(toy_net.Net()).eval()
        net.fc.bias -= net(torch.from_numpy(tensors)).mean(dim=0)  # each class is answered
        torch.save(net.state_dict(), model / "net.pt")
    net = getattr(toy_net, reference.partition(":")[2])(model).eval()
    with torch.no_grad():
        labels = net(torch.from_numpy(tensors)).numpy().argmax(1)
    write_roles(folder, labels)


def write_roles(folder, labels):
    lines = [
        {"dataset": "real", "id": f"r{at}", "row": at, "path": "", "label": int(label)}
        | {"group": f"g{at // 4}", "role": "diagnose"}
        for at, label in enumerate(labels)
    ]
    lines.append(lines[0] | {"dataset": "sim", "id": "s0", "role": "validation"})
    with (folder / "roles.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def examine(folder, candidate, *, reference="toy_net:build", rules=(None, None), layers=([], [])):
    """Run predict, postprocess and collect of both sides, then runtime; return its report."""
    sides = {"reference": reference, "candidate": candidate}
    inputs = {"roles": folder / "roles.csv"}
    stated = {}
    for side, it, rule, names in zip(sides, sides.values(), rules, layers, strict=True):
        model, weights = it if isinstance(it, tuple) else (it, folder / "model")
        stated[side] = {"postprocess": rule, "task": "classification", "recorded": None}
        params = stated[side] | {"model": model, "layers": names, "layer_rows": 50}
        params |= {"layer_seed": 0, "batch": 64, "device": "cpu", "image": "torch", "steps": []}
        given = {"model": folder / "model", "weights": weights, "roles": folder / "roles.csv"}
        given |= {"recorded": None, "swap": None, "sim": folder / "tensors.npy"}
        given |= dict.fromkeys(("real", "real_reference", "real_candidate"), folder / "tensors.npy")
        for work, kind in ((predict, "predict"), (collect, "collect")):
            into = folder / f"{kind}-{side}"
            into.mkdir()
            work.run(params, given, into, side)
        inputs[side] = read_report(PredictReport, folder / f"predict-{side}/report.json")
        inputs[f"{side}_outputs"] = folder / f"predict-{side}/outputs"
        inputs[f"{side}_layers"] = folder / f"predict-{side}/layers"
        again = folder / f"predict-{side}/invariance.json"
        inputs[f"{side}_again"] = read_report(Invariance, again)
        assert set(json.loads(again.read_text())) == set(Invariance.model_fields)
        facts = read_report(CollectReport, folder / f"collect-{side}/report.json")
        inputs[f"{side}_facts"] = facts
    for side in sides:
        into = folder / f"postprocess-{side}"
        into.mkdir()
        outputs = {f"{one}_outputs": inputs[f"{one}_outputs"] for one in sides}
        postprocess.run(stated[side], outputs, into, side)
        inputs[f"{side}_rule"] = read_report(PostprocessReport, into / "report.json")
        inputs[f"{side}_labels"] = into / "labels"
    params = runtime.RuntimeParams(
        resamples=200, reference_layers=layers[0], candidate_layers=layers[1]
    )
    made = runtime.run(params, runtime.Inputs(**inputs), folder)
    return made.report
