"""A model without a framework: the variance of row means against that of column means."""

from pathlib import Path

import numpy as np


def train(train: Path, out: Path, seed: int) -> dict[str, float]:
    np.save(out / "gain.npy", np.float32(10.0))
    return {}


def build(folder: Path):
    gain = np.load(folder / "gain.npy")

    def model(batch):
        lying, standing = batch.mean(2).var(1), batch.mean(1).var(1)
        return gain * np.stack([lying, standing], axis=1)

    return model
