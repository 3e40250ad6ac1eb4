"""The training set, through the same steps as every other sample."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.scaffold.starters.array_steps import as_float  # STEPS

STEPS = (as_float,)


def read(folder: Path) -> tuple[NDArray[Any], list[str]]:
    """Read the labelled samples of a dataset folder through the same steps, one row each."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["label"]]
    array = np.load(folder / "samples.npy") if (folder / "samples.npy").is_file() else None
    inputs = []
    for row in rows:
        value: Any
        if array is not None and row["row"]:
            value = array[int(row["row"])]
        else:
            value = (folder / row["path"]).read_bytes()
        for step in STEPS:
            value = step(value)
        inputs.append(np.asarray(value, np.float32).reshape(-1))
    return np.stack(inputs), [row["label"] for row in rows]
