"""Runs a side's own steps over all rows, and keeps each step's output for the paired rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError
from sides.preprocess_recorded import preprocess_recorded
from sides.rows import Samples, paired, read_roles
from sides.steps import apply_all, loaded, said, step_key
from sides.tensors import RowWriter, save_step

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.rows import Row
    from sides.steps import Step


def run(params: Dict[str, Any], inputs: Dict[str, Path], into: Path, side: str) -> None:
    """Write report.json, sim.npy, real.npy and steps/ as `stages.reports.preprocess` says."""
    stated = params["steps"]
    sim = read_roles(inputs["roles"], "sim")
    real = read_roles(inputs["roles"], "real")
    watched = paired(real, params["paired"])
    (into / "steps").mkdir()
    report: Dict[str, Any] = {"schema_version": 1, "side": side}
    if params["recorded"]:
        made = preprocess_recorded(inputs["recorded"], stated, real, watched, into=into, side=side)
        watched = [] if made["why_not"] else watched
        report.update(made)
    else:
        with loaded(side, stated) as steps:
            _chain(steps, sim, Samples(inputs["sim"]), into / "sim.npy", [])
            kept = _chain(steps, real, Samples(inputs["real"]), into / "real.npy", watched)
        outputs = []
        for position, step in enumerate(stated if watched else []):
            rows = [row[position] for row in kept]
            saved = save_step(into / "steps", step_key(position, step["name"]), rows)
            outputs.append({"name": step["name"], "call": said(step), **saved})
        report.update({"steps": outputs, "num_sim": len(sim), "num_real": len(real)})
        report["why_not"] = None
    report["paired"] = [real[position].id for position in watched]
    text = json.dumps(watched) + "\n"
    (into / "steps" / "rows.json").write_text(text, encoding="utf-8")
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    (into / "report.json").write_text(text, encoding="utf-8")


def _chain(
    steps: Sequence[Step], rows: Sequence[Row], samples: Samples, path: Path, watched: Sequence[int]
) -> List[List[NDArray[Any]]]:
    """Write the last step's output of every row; return all steps' outputs of the watched rows."""
    wanted, kept = set(watched), []
    with RowWriter(path, len(rows)) as writer:
        for number, row in enumerate(rows):
            outputs = []
            last = np.zeros(0)
            for last in apply_all(steps, samples.raw(row), row, number):
                if number in wanted:
                    outputs.append(last)
            if number in wanted:
                kept.append(outputs)
            try:
                writer.write(last[None])
            except ValueError as error:
                place = f"sample {number}{privacy.named(row.id)}"
                text = f"{steps[-1].what}: its output for {place} {error}."
                raise CaseCodeError(text) from None
    return kept
