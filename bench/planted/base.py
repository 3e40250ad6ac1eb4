"""A healthy case: data of one distribution, its chain of steps, a network trained once a seed."""

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from bench.planted import rows as files
from bench.planted.rows import Rows

CODE = Path(__file__).with_name("code")
NUM_SIM = NUM_REAL = 200
Make = Callable[[np.random.Generator], tuple[Rows, Rows, Rows]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What all cases of one dataset share. Step names are those of the chain's functions."""

    name: str
    modality: Literal["picture", "signal", "table"]
    make: Make  # train, validation, field: one distribution, by whole groups
    chain: str  # a file of code/
    steps: tuple[str, ...]
    raw: str  # the step after which values are still in raw units and in the sample's own axes
    scaled: str  # the step that brings them to the network's range
    axes: Literal["HW", "HWC", "TC", "C"]  # of what `raw` makes
    top: float  # full scale of raw values, or about their largest
    net: str  # a file of code/
    shape: Mapping[str, Any]  # of the network
    contract: Mapping[str, Any]  # of a raw sample
    classes: int | None = None  # None: a regression
    answers: bool = False  # the chain's file has a postprocess of its own, `answer`
    columns: tuple[str, ...] = ()
    epochs: int = 10
    rate: float = 4e-3
    extra: Mapping[str, Any] = field(default_factory=dict)  # what some kinds need to know

    @property
    def layers(self) -> list[str]:
        """Where features are read."""
        return ["conv1", "norm1", "conv2", "norm2", "fc1"]


@dataclass(frozen=True, slots=True)
class Made:
    """One dataset at one seed, with the folder of its trained network."""

    base: Base
    seed: int
    train: Rows
    sim: Rows
    real: Rows
    weights: Path

    @property
    def figures(self) -> Mapping[str, float]:
        """What training reported."""
        text = (self.weights.parent / "figures.json").read_text(encoding="utf-8")
        return dict(json.loads(text))


def made(base: Base, seed: int, work: Path, variant: str = "plain") -> Made:
    """Return a base with its network, from the work folder or made now, by a child process.

    Args:
        base: the dataset.
        seed: of its draw and of its training.
        work: where it is kept.
        variant: `plain`; `half` trained, as an older checkpoint is; `small`, of few rows, which it
            learns by heart.
    """
    folder = work / "bases" / f"{base.name}-{seed}"
    names = ("train", "sim", "real")
    if not (folder / "real.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        place = sum(map(ord, base.name))
        drawn = base.make(np.random.default_rng((seed, place)))
        for name, rows in zip(names, drawn, strict=True):
            files.save(rows, folder / f"{name}.npz")
    train, sim, real = (files.load(folder / f"{name}.npz") for name in names)
    weights = folder / variant / "weights"
    if not (weights.parent / "figures.json").exists():
        _train_in_a_child(base, train, seed, weights, variant)
    return Made(base, seed, train, sim, real, weights)


def _train_in_a_child(base: Base, train: Rows, seed: int, weights: Path, variant: str) -> None:
    """Train in a fork, so that torch's state here stays as it was."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _train(base, train, seed, weights, variant)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"{base.name}, seed {seed}: its training failed, see above.")


def _train(base: Base, train: Rows, seed: int, weights: Path, variant: str) -> None:
    import torch
    from safetensors.torch import save_file

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    if variant == "small":
        train = train.take(range(small_rows(base)))
    weights.mkdir(parents=True, exist_ok=True)
    (weights / "shape.json").write_text(json.dumps(dict(base.shape)), encoding="utf-8")
    net = load_module(CODE / f"{base.net}.py")
    model = net.empty(weights).train()
    inputs = torch.from_numpy(tensors(base, train))
    epochs = {"plain": base.epochs, "half": max(1, base.epochs // 8), "small": 5 * base.epochs}
    _fit(model, inputs, _targets(base, train), epochs[variant], base.rate)
    save_file(model.state_dict(), weights / "weights.safetensors")
    (weights.parent / "figures.json").write_text(json.dumps({"rows": len(train)}))


def small_rows(base: Base) -> int:
    """Return how many rows a network learns by heart: 60 of a classification."""
    return 40 if base.classes is None else 12 * base.classes


def _fit(model: Any, inputs: Any, targets: Any, epochs: int, rate: float) -> None:
    import torch
    from torch import nn

    loss = nn.functional.cross_entropy if targets.ndim == 1 else nn.functional.mse_loss
    optimizer = torch.optim.Adam(model.parameters(), rate)
    num_steps = epochs * -(-len(inputs) // 64)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, num_steps)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(64):
            if len(batch) < 2:
                continue
            optimizer.zero_grad()
            found = model(inputs[batch])
            if targets.ndim > 1:  # in the network's own spread, so that one rate serves all units
                found = (found - model.offset) / model.spread
            loss(found, targets[batch]).backward()
            optimizer.step()
            schedule.step()
    model.eval()


def _targets(base: Base, rows: Rows) -> Any:
    import torch

    if base.classes is not None:
        return torch.from_numpy(rows.labels.astype(np.int64))
    offset, spread = base.shape["offset"], base.shape["spread"]
    return torch.from_numpy(((rows.labels - offset) / spread).astype(np.float32)[:, None])


def tensors(base: Base, rows: Rows) -> Any:
    """Run the chain over rows, in the bench itself."""
    chain = load_module(CODE / f"{base.chain}.py")
    made_of = []
    for sample in rows.samples:
        value = sample
        for step in base.steps:
            value = getattr(chain, step)(value)
        made_of.append(value)
    return np.stack(made_of)


def predicted(base: Base, weights: Path, rows: Rows) -> Any:
    """Answer rows with a network behind the healthy chain, in the bench itself."""
    import torch

    net = load_module(CODE / f"{base.net}.py")
    with torch.no_grad():
        outputs = net.build(weights)(torch.from_numpy(tensors(base, rows))).numpy()
    if base.classes is None:
        return outputs[:, 0]
    if base.answers:
        return load_module(CODE / f"{base.chain}.py").answer(outputs)
    return outputs.argmax(axis=1)


def load_module(path: Path) -> ModuleType:
    """Import a file of a case's code under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def clear(work: Path) -> None:
    """Forget the trained networks."""
    shutil.rmtree(work / "bases", ignore_errors=True)
