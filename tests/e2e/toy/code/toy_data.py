"""Noisy 6x6 pictures of a bar: class 0 lies, class 1 stands."""

import csv
from pathlib import Path

import numpy as np


def make(out: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for name, rows in (("train", 300), ("sim", 200), ("real", 300)):
        labels = rng.integers(0, 2, rows)
        samples = rng.integers(0, 90, (rows, 6, 6)).astype(np.uint8)
        for sample, label in zip(samples, labels, strict=True):
            at = rng.integers(0, 6)
            sample[(at, slice(None)) if label == 0 else (slice(None), at)] += 120
        folder = out / name
        folder.mkdir(parents=True)
        np.save(folder / "samples.npy", samples)
        with (folder / "manifest.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", "row", "label", "group"])
            for row, label in enumerate(labels):
                table.writerow([f"{name}-{row:03d}", row, int(label), f"g{row // 10:02d}"])
