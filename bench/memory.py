"""Does a stage's memory grow with the data, or is it bounded by its batch?"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.rig.figures import Figure, median

ROOT = Path(__file__).resolve().parents[1]
ROWS, GROWTH = 1000, (1, 4, 16)
SIDE = 64  # pictures of 64x64
ROW_BYTES = SIDE * SIDE * 4
MB = 10**6

STEPS = """
import numpy as np

def scale(raw):
    return (np.asarray(raw, dtype=np.float32) / 255)[None]
"""
MODEL = """
from torch import nn

def build(folder):
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 10))
"""


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        top = Path(folder)
        (top / "code").mkdir()
        (top / "code/made_steps.py").write_text(STEPS, encoding="utf-8")
        (top / "code/made_model.py").write_text(MODEL, encoding="utf-8")
        peaks: dict[str, dict[int, int]] = {"preprocess": {}, "predict": {}, "features": {}}
        for growth in GROWTH:
            data = _data(top / f"data-{growth}", ROWS * growth)
            peaks["preprocess"][growth] = _peak(top, data, _preprocess(data))
            peaks["predict"][growth] = _peak(top, data, _predict(data))
            peaks["features"][growth] = _peak(top, data, _features(data))
        return [figure for name, found in peaks.items() for figure in _figures(name, found)]


def _figures(name: str, peaks: dict[int, int]) -> list[Figure]:
    added = 2 * ROWS * (GROWTH[-1] - GROWTH[0])  # on two sides
    slope = (peaks[GROWTH[-1]] - peaks[GROWTH[0]]) / added
    return [
        *(
            median(f"{name}, {ROWS * growth} rows a side, peak memory", "MB", [peak / MB])
            for growth, peak in peaks.items()
        ),
        # What remains is the table of rows (id, group, role), which is text a row.
        median(
            f"{name}, growth a row over the row's own bytes", "x", [slope / ROW_BYTES], "<= 0.1"
        ),
    ]


def _data(folder: Path, rows: int) -> Path:
    """Write two datasets of pictures, their tensors and roles.csv, a piece at a time."""
    lines = []
    generator = np.random.default_rng(0)
    for name, role in (("sim", "validation"), ("real", "diagnose")):
        (folder / name).mkdir(parents=True)
        shape = (rows, SIDE, SIDE)
        made = np.lib.format.open_memmap(folder / name / "samples.npy", "w+", np.uint8, shape)
        for start in range(0, rows, ROWS):
            made[start : start + ROWS] = generator.integers(0, 256, (ROWS, SIDE, SIDE))
        made.flush()
        lines += [
            {
                "dataset": name,
                "id": f"{name}-{at:06d}",
                "row": at,
                "path": "",
                "label": at % 10,
                "group": f"g{at // 20}",
                "role": role,
            }
            for at in range(rows)
        ]
    with (folder / "roles.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return folder


def _preprocess(data: Path) -> dict[str, Any]:
    return {
        "name": "preprocess",
        "module": "sides.preprocess",
        "params": {
            "steps": [{"name": "scale", "call": "made_steps:scale", "args": {}}],
            "paired": 32,
            "recorded": None,
        },
        "inputs": {"roles": data / "roles.csv", "sim": data / "sim", "real": data / "real"},
        "into": data / "preprocess",
    }


def _predict(data: Path) -> dict[str, Any]:
    made = data / "preprocess"
    return {
        "name": "predict",
        "module": "sides.predict",
        "params": {
            "model": "made_model:build",
            "postprocess": None,
            "task": "classification",
            "layers": ["0", "3"],
            "layer_rows": 500,
            "layer_seed": 0,
            "recorded": None,
            "batch": 256,
            "device": "cpu",
        },
        "inputs": {
            "weights": None,
            "model": data,
            "roles": data / "roles.csv",
            "sim": made / "sim.npy",
            "real": made / "real.npy",
            "real_reference": made / "real.npy",
            "real_candidate": made / "real.npy",
            "swap": None,
        },
        "into": data / "predict",
    }


def _features(data: Path) -> dict[str, Any]:
    return {
        "name": "features",
        "module": "stages.features",
        "params": {"num_permutations": 99},
        "inputs": {"layers": data / "predict" / "layers", "roles": data / "roles.csv"},
        "into": data / "features",
    }


def _peak(top: Path, data: Path, job: dict[str, Any]) -> int:
    """Run one job as a runner would, and return the peak that it noted of itself."""
    into = Path(job["into"])
    into.mkdir()
    told = {"case": "made", "side": "reference", "code": [str(top / "code")], **job}
    path = data / f"{job['name']}.json"
    path.write_text(json.dumps(told, default=str), encoding="utf-8")
    entry = f"{job['module'].partition('.')[0]}.enter"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", entry, str(path)],
        cwd=data,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    inside = json.loads((into / "inside.json").read_text(encoding="utf-8"))
    return int(inside["peak_rss_bytes"])
