"""A generated case of any size: small pictures or a table, a numpy model, a transposed `decode`."""

import csv
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
ROOMS = ("assay", "sides", "stages")
CASE = "grown"
CLASSES = 10
TRAIN_ROWS = 500
GROUP_ROWS = 20
BLOCK = 10_000  # rows that are made at once
COLUMNS = 12  # of the table; its manifest has four more, of text and numbers

CASE_YAML = """\
schema: 1
title: Generated, to be counted
task: classification
metric: accuracy
classes: 10
data: {train: data/train, sim: data/sim, real: data/real, contract: grown}
train: {call: grown_model:train, image: base}
reference:
  image: base
  steps:
    - {name: decode, call: grown_steps:decode}
    - {name: scale, call: grown_steps:scale, args: {by: 255.0}}
  model: grown_model:build
candidate:
  like: reference
  steps:
    - {name: decode, call: grown_steps:turned}
    - {name: scale, call: grown_steps:scale, args: {by: 255.0}}
"""
CONTRACT = """\
schema: 1
sim: &all
  samples: {dtype: DTYPE, shape: SHAPE, range: [0, 255], duplicate_share: 1.0}
real: *all
"""
STEPS = """\
import numpy as np

def decode(raw):
    return raw.astype(np.float32)

def turned(raw):
    return raw[::-1].astype(np.float32)

def scale(sample, by):
    return sample / np.float32(by)
"""
MODEL = """\
import csv
import numpy as np

def train(train, out, seed):
    samples = np.load(train / "samples.npy")
    with open(train / "manifest.csv", newline="") as file:
        labels = np.array([int(line["label"]) for line in csv.DictReader(file)])
    flat = samples.reshape(len(samples), -1).astype(np.float32) / 255
    np.save(out / "means.npy", np.stack([flat[labels == label].mean(0) for label in range(10)]))
    return {}

def build(folder):
    means = np.load(folder / "means.npy")
    def model(batch):
        flat = batch.reshape(len(batch), -1)
        return 2 * flat @ means.T - (means**2).sum(1)
    return model
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """What one sample is."""

    dtype: str
    shape: tuple[int, ...]
    columns: tuple[str, ...]  # of the manifest, beyond the usual


KINDS: Mapping[str, Kind] = {
    "pictures": Kind("uint8", (8, 8, 1), ()),
    "table": Kind("float32", (COLUMNS,), ("site", "operator", "temperature", "comment")),
}


def make(root: Path, kind: Kind, rows: int) -> None:
    """Write a workspace with the case: `rows` raw samples, half of them real."""
    for name in ROOMS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE / name, root / name, ignore=ignored)
    shutil.copy(SOURCE / "params.yaml", root / "params.yaml")
    make_case(root, kind, rows)


def make_case(root: Path, kind: Kind, rows: int) -> None:
    """Write the case alone into a workspace that is there."""
    case = root / "cases" / CASE
    shape = str(list(kind.shape))
    for path, text in {
        case / "case.yaml": CASE_YAML,
        case / "code/grown_steps.py": STEPS,
        case / "code/grown_model.py": MODEL,
        root / "data_contracts/grown.yaml": CONTRACT.replace("DTYPE", kind.dtype).replace(
            "SHAPE", shape
        ),
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for number, name in enumerate(("train", "sim", "real")):
        _write(
            case / "data" / name, name, kind, TRAIN_ROWS if name == "train" else rows // 2, number
        )


def _write(folder: Path, name: str, kind: Kind, rows: int, seed: int) -> None:
    """Write one dataset a block at a time: a class is a place that is brighter than the rest."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(seed)
    labels = np.arange(rows) % CLASSES
    shape = (rows, *kind.shape)
    samples = np.lib.format.open_memmap(folder / "samples.npy", "w+", kind.dtype, shape)
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        block = generator.integers(0, 120, (stop - start, *kind.shape)).astype(kind.dtype)
        block.reshape(len(block), -1)[np.arange(len(block)), labels[start:stop]] += 120
        samples[start:stop] = block
    samples.flush()
    with (folder / "manifest.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", "row", "label", "group", *kind.columns])
        for at, label in enumerate(labels):
            more = [f"site {at % 7}", f"operator {at % 31}", 20 + at % 9, f"note {at}"]
            own = [f"{name}-{at:06d}", at, label, f"g{at // GROUP_ROWS}"]
            table.writerow([*own, *more[: len(kind.columns)]])
