"""What both models did with the same tensors, read together: layers and arrangements."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.runtime_parity import Step, layer_error, narrowed, only_moved, same_places
from stages.dataset import open_tensor
from stages.reports.predict import Invariance
from stages.reports.runtime import Arrangement, LayerPair, SideInvariance


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Layers that both models show, in the reference's order."""

    steps: list[Step]
    pairs: list[LayerPair]
    why_not: str | None
    rows: int
    hidden_norms: bool = False  # the reference has batch norms, the candidate shows no layers


def read_layers(
    folders: tuple[Path, Path], stated: tuple[Sequence[str], Sequence[str]], tolerance: float
) -> Layers:
    """Pair the layers of both sides: by name, or else in the order that the case states."""
    told = [_shared(folder) for folder in folders]
    for side, one in zip(("reference", "candidate"), told, strict=True):
        if one.get("why_not"):
            norms = any("BatchNorm" in it for it in told[0].get("operators", {}).values())
            why = f"{side}: {one['why_not']}"
            return Layers(steps=[], pairs=[], why_not=why, rows=0, hidden_norms=norms)
    names = _pairs(told[0]["layers"], told[1]["layers"], stated)
    if not names:
        why = "No layer of the one has the name of a layer of the other; state layers for both."
        return Layers(steps=[], pairs=[], why_not=why, rows=0)
    steps = [_step(folders, told, (ours, theirs), tolerance) for ours, theirs in names]
    pairs = [
        _pair(told, ours, theirs, step, tolerance)
        for (ours, theirs), step in zip(names, steps, strict=True)
    ]
    return Layers(steps=steps, pairs=pairs, why_not=None, rows=len(told[0]["rows"]))


def _shared(folder: Path) -> dict[str, Any]:
    read = json.loads((folder / "layers.json").read_text(encoding="utf-8"))
    nothing = {"why_not": "its layers were not read on shared tensors."}
    shared: dict[str, Any] = read.get("shared") or nothing
    return shared


def _pairs(
    ours: Sequence[str], theirs: Sequence[str], stated: tuple[Sequence[str], Sequence[str]]
) -> list[tuple[str, str]]:
    by_name = [(name, name) for name in ours if name in theirs]
    if by_name:
        return by_name
    listed = list(zip(*stated, strict=False)) if len(stated[0]) == len(stated[1]) else []
    return [(one, other) for one, other in listed if one in ours and other in theirs]


def _step(
    folders: tuple[Path, Path],
    told: list[dict[str, Any]],
    names: tuple[str, str],
    tolerance: float,
) -> Step:
    ours, theirs = names
    values = [
        np.asarray(open_tensor(folder / f"{one['files'][name]}.shared.npy"))
        for folder, one, name in zip(folders, told, (ours, theirs), strict=True)
    ]
    ranges = [one["range"][name] for one, name in zip(told, (ours, theirs), strict=True)]
    alike = values[0].shape == values[1].shape
    error = layer_error(*values) if alike else None
    return Step(
        name=ours,
        error=error,
        narrow=narrowed(*values) if (error or 0.0) > tolerance else None,
        same_places=alike and same_places(*values),
        moved=alike and only_moved(*values) and (error or 0.0) > tolerance,
        max_abs=(ranges[0]["max_abs"], ranges[1]["max_abs"]),
        not_finite=(ranges[0]["num_not_finite"], ranges[1]["num_not_finite"]),
    )


def _pair(
    told: list[dict[str, Any]], ours: str, theirs: str, step: Step, tolerance: float
) -> LayerPair:
    note = None
    if step.error is None:
        note = "nothing finite to compare" if step.same_places else "other shapes, or not finite"
    return LayerPair(
        layer=ours,
        candidate=theirs,
        relative_error=step.error,
        equal=not step.differs(tolerance),
        max_abs=list(step.max_abs),
        num_not_finite=list(step.not_finite),
        operator=[
            one["operators"].get(name, "") for one, name in zip(told, (ours, theirs), strict=True)
        ],
        note=note,
    )


def invariance(side: str, told: Invariance, moves: float) -> SideInvariance:
    """Measure each arrangement by how far rows differ by themselves."""
    spread = told.spread or 1.0
    found = [
        Arrangement(
            name=one.name,
            largest=None if one.largest is None else one.largest / spread,
            changed=one.changed,
            error=one.error,
        )
        for one in told.arrangements
    ]
    return SideInvariance(
        side=side,
        rows=told.rows,
        arrangements=found,
        training=told.training,
        why_not=told.why_not,
        moved=any(moved(one, moves) for one in found),
    )


def moved(one: Arrangement, moves: float) -> bool:
    """Tell whether an arrangement changes answers by more than rounding does."""
    return one.error is not None or (one.largest is not None and one.largest > moves)
