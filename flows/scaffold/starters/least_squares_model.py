"""A model to begin with: a linear function of all inputs, fitted by regularised least squares.

It exists so that the case runs from end to end before its real model is there. Replace `train` and
`build`, or state `reference.model` and `reference.weights` in case.yaml.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.scaffold.starters.training_rows import read

WEIGHTS = "linear.npz"
RIDGE = 1e-3  # on standardised inputs


def train(train: Path, out: Path, seed: int) -> dict[str, float]:  # noqa: ARG001  nothing is drawn
    """Write the fitted function; return its mean absolute error on the training set."""
    inputs, labels = read(train)
    targets = np.array([float(label) for label in labels])
    mean, spread = inputs.mean(axis=0, dtype=np.float64), inputs.std(axis=0, dtype=np.float64)
    scaled = (inputs - mean) / np.where(spread > 0, spread, 1.0)
    square = scaled.T @ scaled + RIDGE * len(scaled) * np.eye(scaled.shape[1])
    slope = np.linalg.solve(square, scaled.T @ (targets - targets.mean()))
    slope = slope / np.where(spread > 0, spread, 1.0)
    np.savez(out / WEIGHTS, slope=slope, offset=targets.mean() - mean @ slope)
    return {"train_mae": float(np.abs(build(out)(inputs)[:, 0] - targets).mean())}


def build(model_dir: Path) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a function of a batch (rows, ...): the predicted quantity, (rows, 1)."""
    with np.load(model_dir / WEIGHTS, allow_pickle=False) as fitted:
        slope, offset = fitted["slope"], fitted["offset"]

    def model(batch: NDArray[Any]) -> NDArray[Any]:
        rows = np.asarray(batch, np.float64).reshape(len(batch), -1)
        predicted: NDArray[Any] = (rows @ slope + offset)[:, None]
        return predicted

    return model
