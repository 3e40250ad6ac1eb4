"""What a fault costs, measured by the bench itself: the reference against the deployment.

All labelled real rows, whole groups resampled; the engine's code has no part in it.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bench.planted import rows as files
from bench.planted.draft import Draft
from bench.planted.rows import Rows

DRAWS = 2000
Scores = np.ndarray


def measure(draft: Draft, folder: Path) -> tuple[float, float, float]:
    """Return the loss in the metric with its 95 % interval; positive is a loss.

    Runs the case's own code as the case states it.
    """
    case = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
    path = list(sys.path)
    sys.path[:0] = [str(folder / part) for part in case["code"]]
    try:
        reference = case["reference"]
        candidate = {**reference, **case["candidate"]}
        sim = _scores(case, reference, folder, draft.sim, None)
        if draft.loss_of == "claim":
            return _bounds(
                float(draft.reported or 0.0) - sim, draft.sim.groups, np.zeros(1), ["none"]
            )
        spread = _spread(case, draft.clean)
        deployed = _scores(case, candidate, folder, draft.real, spread)
        if draft.loss_of == "sets":
            return _bounds(-deployed, draft.real.groups, sim, draft.sim.groups)
        healthy = _scores(case, reference, folder, draft.clean, spread)
        if draft.clean.ids != draft.real.ids:
            raise ValueError("the field's rows are not those of the clean field: pairs need both")
        return _bounds(healthy - deployed, draft.real.groups, np.zeros(1), ["none"])
    finally:
        sys.path[:] = path


def _spread(case: dict[str, Any], rows: Rows) -> float | None:
    return None if case["task"] == "classification" else float(np.var(rows.labels))


def _scores(
    case: dict[str, Any], side: dict[str, Any], folder: Path, rows: Rows, spread: float | None
) -> Scores:
    """Return one score a row; their mean is the metric."""
    steps = [_load(step["call"]) for step in side["steps"]]
    tensors = []
    for sample in rows.samples:
        value = sample
        for step in steps:
            value = step(value)
        tensors.append(value)
    found = _answers(side, folder, tensors)
    if case["task"] == "classification":
        return (found == rows.labels).astype(float)
    errors = np.where(np.isfinite(found), found - rows.labels, np.std(rows.labels) * 3)
    return np.asarray(1 - errors**2 / (spread or np.var(rows.labels)))


def _answers(side: dict[str, Any], folder: Path, tensors: list[Any]) -> np.ndarray:
    import torch

    if len({np.shape(tensor) for tensor in tensors}) > 1:
        return np.full(len(tensors), -1)
    model = _load(side["model"])(folder / side["weights"])
    try:
        with torch.no_grad():
            batch = torch.from_numpy(np.ascontiguousarray(np.stack(tensors), np.float32))
            outputs = model(batch).numpy()
    except RuntimeError:  # tensors that the network does not take: no answer is a wrong one
        return np.full(len(tensors), -1)
    if side.get("postprocess"):
        return np.asarray(_load(side["postprocess"])(outputs.copy()))
    return np.asarray(outputs[:, 0] if outputs.shape[1] == 1 else outputs.argmax(axis=1))


def _load(call: str) -> Callable[..., Any]:
    module, _, name = call.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def _bounds(
    first: Scores, first_groups: list[str], second: Scores, second_groups: list[str]
) -> tuple[float, float, float]:
    """Return the sum of two means with its interval, whole groups resampled in each."""
    rng = np.random.default_rng(0)
    drawn = _means(first, first_groups, rng) + _means(second, second_groups, rng)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(first.mean() + second.mean()), float(low), float(high)


def _means(scores: Scores, groups: list[str], rng: np.random.Generator) -> np.ndarray:
    _, inverse = np.unique(groups, return_inverse=True)
    num = int(inverse.max()) + 1
    sums, counts = np.bincount(inverse, scores), np.bincount(inverse)
    drawn = rng.integers(num, size=(DRAWS, num))
    return np.asarray(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))


def saved(rows: Rows, path: Path) -> None:
    """Keep the clean field outside of the case, for whoever looks a case up."""
    files.save(rows, path)
