"""Files that would leave a trace if anything in them were run."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np


class Bait:
    """Unpickling it makes a file."""

    def __init__(self, canary: Path):
        self.canary = str(canary)

    def __reduce__(self):
        return os.mkdir, (self.canary,)


def pickled(canary: Path) -> bytes:
    return pickle.dumps(Bait(canary), protocol=2)


def saved_by_torch(canary: Path) -> bytes:
    import torch

    out = io.BytesIO()
    torch.save({"weight": torch.zeros(2), "bait": Bait(canary)}, out)
    return out.getvalue()


def write_npy(path: Path, canary: Path) -> None:
    np.save(path, np.array([Bait(canary)], dtype=object), allow_pickle=True)


def write_npz(path: Path, canary: Path, *names: str) -> None:
    baits = {name: np.array([Bait(canary)], dtype=object) for name in names}
    np.savez(path, **baits)


def rewrite(source: Path, target: Path, member: str, content: bytes) -> None:
    """Copy an archive with one member's content in place of another."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        names = old.namelist()
        assert sum(name.endswith(member) for name in names) == 1, names
        for name in names:
            new.writestr(name, content if name.endswith(member) else old.read(name))


def write_exported_with_inputs(source: Path, target: Path, canary: Path) -> None:
    """Replace the sample inputs, which torch unpickles in full where tensors alone do not do."""
    rewrite(source, target, "sample_inputs/model.pt", saved_by_torch(canary))


def write_exported_with_weights(source: Path, target: Path, canary: Path) -> None:
    """Say of each weight that it has to be unpickled."""
    config = "model_weights_config.json"
    with zipfile.ZipFile(source) as archive:
        name = next(name for name in archive.namelist() if name.endswith(config))
        told = json.loads(archive.read(name))
    for entry in told["config"].values():
        entry["use_pickle"] = True
    between = target.with_suffix(".between")
    rewrite(source, between, config, json.dumps(told).encode())
    rewrite(between, target, "weights/weight_0", saved_by_torch(canary))
