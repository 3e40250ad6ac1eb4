"""What other tools say of the same case, as they are used without a thought.

Evidently: data drift of its preset, all at default. Kolmogorov-Smirnov: p below .05 in any column.
MMD: above .015, Evidently's default for embeddings (a radial kernel at the median distance). The
three checks that ML-EXray proposes (Qiu et al. 2022): channel order, scale, orientation of the
tensors, then the layers' normalised error. cleanlab alone: `peers_labels.py`.

What detects drift of data claims, when it fires, that the data is what broke, and no kind.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.planted.draft import Draft

MOST_COLUMNS = 8
MOST_KS = 200
P_VALUE = 0.05
MMD_BAR = 0.015
DATASET_DRIFT = 0.5
CLOSE = 1e-3
RMSE_BAR = 0.1  # of the range, at the first layer that is off
Array = NDArray[Any]
Said = dict[str, Any]


def ask(draft: Draft, folder: Path) -> dict[str, Said]:
    """Return {peer: {fires, component, kind}}."""
    artifacts = folder / "artifacts"
    sim = np.load(artifacts / "preprocess-reference/sim.npy")
    real = np.load(artifacts / "preprocess-candidate/real.npy")
    if sim.ndim != real.ndim or sim.shape[1:] != real.shape[1:] or sim.dtype == object:
        differs = _said("preprocessing", None)  # a shape that differs needs no statistics
        return dict.fromkeys(("evidently", "ks", "mmd", "exray"), differs)
    flat = [_finite(part.reshape(len(part), -1)) for part in (sim, real)]
    if draft.base.modality == "table":
        flat = [_finite(np.asarray(rows.samples)) for rows in (draft.sim, draft.real)]
    return {
        "evidently": _drift(evidently(*flat)),
        "ks": _drift(kolmogorov_smirnov(*flat)),
        "mmd": _drift(mmd(*flat) > MMD_BAR),
        "exray": exray(artifacts),
    }


def _finite(values: Array) -> NDArray[np.float64]:
    return np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=1e9, neginf=-1e9)


def _said(component: str | None, kind: str | None) -> Said:
    return {"fires": component is not None, "component": component, "kind": kind}


def _drift(fires: bool) -> Said:
    return _said("data" if fires else None, None)


def evidently(sim: Array, real: Array) -> bool:
    """Tell whether Evidently's preset finds the dataset to drift: half of its columns do."""
    chosen = np.unique(np.linspace(0, sim.shape[1] - 1, MOST_COLUMNS).astype(int))
    names = [f"c{at}" for at in chosen]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd
        from evidently import DataDefinition, Dataset, Report
        from evidently.presets import DataDriftPreset

        told = DataDefinition(numerical_columns=names)
        sets = [
            Dataset.from_pandas(pd.DataFrame(part[:, chosen], columns=names), data_definition=told)
            for part in (sim, real)
        ]
        found = Report([DataDriftPreset()]).run(sets[1], sets[0]).dict()
    shares = [m["value"]["share"] for m in found["metrics"] if isinstance(m["value"], dict)]
    return bool(max(shares, default=0.0) >= DATASET_DRIFT)


def kolmogorov_smirnov(sim: Array, real: Array) -> bool:
    """Tell whether any column's p is below .05, as many a script asks."""
    from scipy.stats import ks_2samp

    chosen = np.unique(np.linspace(0, sim.shape[1] - 1, MOST_KS).astype(int))
    return any(ks_2samp(sim[:, at], real[:, at]).pvalue < P_VALUE for at in chosen)


def mmd(sim: Array, real: Array) -> float:
    """Return the squared discrepancy, unbiased, at the median distance (Gretton et al. 2012)."""
    both = np.concatenate([sim, real])
    norms = (both**2).sum(axis=1)
    apart = np.maximum(norms[:, None] + norms - 2 * both @ both.T, 0)
    kernel = np.exp(-apart / max(float(np.median(apart)), 1e-12))
    np.fill_diagonal(kernel, 0)
    num, other = len(sim), len(real)
    return float(
        kernel[:num, :num].sum() / (num * (num - 1))
        + kernel[num:, num:].sum() / (other * (other - 1))
        - 2 * kernel[:num, num:].mean()
    )


def exray(artifacts: Path) -> Said:
    """Check the tensors' channel order, scale and orientation, then the layers one by one."""
    reference = _finite(np.load(artifacts / "preprocess-reference/real.npy"))
    candidate = _finite(np.load(artifacts / "preprocess-candidate/real.npy"))
    if reference.shape != candidate.shape:
        return _said("preprocessing", None)
    if _off(reference, candidate) > CLOSE:
        kind = _named(reference, candidate)
        fires = kind is not None or _off(reference, candidate) > RMSE_BAR
        return _said("preprocessing" if fires else None, kind)
    folders = [artifacts / f"predict-{side}/layers" for side in ("reference", "candidate")]
    read = json.loads((folders[0] / "layers.json").read_text(encoding="utf-8"))
    for layer in read["layers"]:
        sides = [folder / f"{read['files'][layer]}.shared.npy" for folder in folders]
        if not all(side.exists() for side in sides):
            continue
        ours, theirs = (_finite(np.load(side)) for side in sides)
        if ours.shape != theirs.shape or _off(ours, theirs) > RMSE_BAR:
            return _said("model", None)
    return _said(None, None)


def _off(reference: Array, candidate: Array) -> float:
    """Return the root of the mean squared error, over the reference's range."""
    span = float(reference.max() - reference.min()) or 1.0
    return float(np.sqrt(((reference - candidate) ** 2).mean())) / span


def _named(reference: Array, candidate: Array) -> str | None:
    if reference.ndim > 2 and _off(reference[:, ::-1], candidate) < CLOSE:
        return "channel_order"
    slope, offset = np.polyfit(reference.ravel(), candidate.ravel(), 1)
    if _off(slope * reference + offset, candidate) < CLOSE * max(1.0, abs(slope)):
        return "scale"
    if reference.ndim == 4 and reference.shape[2] == reference.shape[3]:
        for turns in (1, 2, 3):
            if _off(np.rot90(reference, turns, (2, 3)), candidate) < CLOSE:
                return ("rotate_90", "rotate_180", "rotate_270")[turns - 1]
    return None
