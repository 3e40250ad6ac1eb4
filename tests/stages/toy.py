"""A case small enough to write by hand: 4x6 pictures, numpy steps, a linear model."""

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sides import case_code

STEPS = """
import numpy as np

def decode(raw):
    return np.asarray(raw, dtype=np.uint8)

def turned(raw):
    return np.rot90(decode(raw), 2)

def transposed(raw):
    return decode(raw).T

def in_place(image):
    image += 1
    return image

def scale(image, by=255.0):
    return image.astype(np.float32) / np.float32(by)

def ragged(raw):
    return decode(raw)[: 2 + raw[0, 0] // 2 % 2]

def flat_sum(image):
    return image.sum(keepdims=True).reshape(1)

def halves(raw):
    if raw[0, 0] == 17:
        raise ValueError("no half of " + str(raw[0, 0]))
    return decode(raw)[:, :3]

def text(raw):
    return "a picture"

def from_bytes(raw):
    return np.frombuffer(raw, dtype=np.uint8).astype(np.float32)

def to_nan(image):
    return np.full(image.shape, np.nan, np.float32)
"""

MODELS = """
import numpy as np

def build(folder):
    weights = np.load(folder / "weights.npy")
    def model(batch):
        return batch.reshape(len(batch), -1) @ weights
    return model

def strict(folder):
    def model(batch):
        if batch.shape[1:] != (4, 6):
            raise ValueError("expected (4, 6), got " + str(batch.shape[1:]))
        return build(folder)(batch)
    return model

def misfit(folder):
    raise RuntimeError("size mismatch for weights")

def single(folder):
    return lambda batch: batch.reshape(len(batch), -1)[:, :1]

def flat(folder):
    return lambda batch: batch.reshape(-1)

def number(folder):
    return 3

def sign(outputs):
    return (outputs[:, 0] > 0.5).astype(int)

def floats(outputs):
    return outputs[:, 0]
"""

RAW = np.random.default_rng(0).integers(0, 256, (40, 4, 6)).astype(np.uint8)
RAW[:, 0, 0] = np.arange(40)


@dataclass(frozen=True)
class Toy:
    """Folders of a case in the making."""

    folder: Path

    @property
    def inputs(self) -> dict[str, Path | None]:
        data = self.folder / "data"
        return {"roles": self.folder / "roles.csv", "sim": data / "sim", "real": data / "real"}

    def into(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir()
        return path

    def report(self, name: str) -> dict:
        return json.loads((self.folder / name / "report.json").read_text())


def preprocess_params(steps: list[dict], paired: int = 4, recorded: str | None = None) -> dict:
    return {"steps": steps, "paired": paired, "recorded": recorded}


def swap(
    toy: Toy, reference: list[dict], candidate: list[dict], into: Path, paired: int = 4, **over
) -> None:
    """Run both sides' preprocessing on four pairs and the three stages of the exchange."""
    from sides import preprocess, swap, swap_inputs, swap_steps

    params = {"reference_steps": reference, "candidate_steps": candidate, "recorded": None}
    params |= {"reference_image": "base", "candidate_image": "base", "atol": 1e-6, "rtol": 0.0}
    params |= over
    inputs, made = dict(toy.inputs), {}
    for side, steps in (("reference", reference), ("candidate", candidate)):
        made[side] = into.parent / f"{into.name}-{side}"
        made[side].mkdir()
        logged = params["recorded"] if side == "candidate" else None
        given = preprocess_params(steps, paired, logged)
        logs = {"recorded": toy.folder / "recorded"}
        try:
            preprocess.run(given, toy.inputs | logs, made[side], side)
        except case_code.CaseCodeError:  # a step that fails is looked at by the exchange too
            text = json.dumps({"why_not": None, "steps": [], "paired": []})
            (made[side] / "report.json").write_text(text)
        inputs |= {side: made[side] / "report.json", f"{side}_steps": made[side] / "steps"}
    for name in ("inputs", "steps"):
        made[name] = into.parent / f"{into.name}-{name}"
        made[name].mkdir()
    swap_inputs.run(params, inputs, made["inputs"], "reference")
    places = {"report": made["inputs"] / "report.json", "values": made["inputs"] / "values"}
    recorded = {"recorded": toy.folder / "recorded"}
    swap_steps.run(params, inputs | places | recorded, made["steps"], "candidate")
    inputs |= {f"inputs_{name}": place for name, place in places.items()}
    inputs |= {
        "steps_report": made["steps"] / "report.json",
        "steps_values": made["steps"] / "values",
    }
    swap.run(params, inputs, into, "reference")


def step(name: str, call: str | None = None, **args: object) -> dict:
    return {"name": name, "call": f"toy_steps:{call or name}", "args": args}


def write_dataset(folder: Path, samples: np.ndarray, labels: list[str], name: str) -> None:
    folder.mkdir(parents=True)
    np.save(folder / "samples.npy", samples)
    lines = [
        {"id": f"{name}-{i:04d}", "row": i, "path": "", "label": label, "group": f"g{i // 2}"}
        for i, label in enumerate(labels)
    ]
    write_csv(folder / "manifest.csv", lines)


def write_csv(path: Path, lines: list[dict]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def make(folder: Path, monkeypatch) -> Toy:
    """20 sim and 40 real rows; real rows alternate between the roles diagnose and prove."""
    code = folder / "code"
    code.mkdir()
    (code / "toy_steps.py").write_text(STEPS)
    (code / "toy_models.py").write_text(MODELS)
    look_in(code, monkeypatch)
    toy = Toy(folder)
    lines = []
    for name, count in (("sim", 20), ("real", 40)):
        labels = [str(i % 2) for i in range(count)]
        write_dataset(folder / "data" / name, RAW[:count], labels, name)
        roles = ["validation", "validation"] if name == "sim" else ["diagnose", "prove"]
        lines += [
            {
                "dataset": name,
                "id": f"{name}-{i:04d}",
                "row": i,
                "path": "",
                "label": labels[i],
                "group": f"g{i // 2}",
                "role": roles[i % 2],
            }
            for i in range(count)
        ]
    write_csv(folder / "roles.csv", lines)
    model = folder / "model"
    model.mkdir()
    np.save(model / "weights.npy", np.random.default_rng(1).normal(size=(24, 3)).astype(np.float32))
    return toy


def look_in(code: Path, monkeypatch) -> None:
    """Put a folder on the path for one test; modules of the tests before are forgotten."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(case_code, "FOLDERS", [])
    for name in [name for name in sys.modules if name.startswith("toy_")]:
        monkeypatch.delitem(sys.modules, name)
    case_code.look_in([str(code)])
