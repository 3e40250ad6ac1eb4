"""Applies a side's own postprocessing to the other side's raw outputs. Needs no model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError
from sides.rules import Rule, rule_of
from sides.tensors import RowReader, RowWriter

if TYPE_CHECKING:
    from pathlib import Path

SETS = ("real-reference", "real-candidate")
OTHER = {"reference": "candidate", "candidate": "reference"}
BATCH = 4096
RECORDED = "recorded: how its labels follow from its outputs was not logged."


def run(params: Dict[str, Any], inputs: Dict[str, Optional[Path]], into: Path, side: str) -> None:
    """Write report.json and labels/ as `stages.reports.postprocess` says."""
    (into / "labels").mkdir()
    other = OTHER[side]
    folder = inputs[f"{other}_outputs"]
    assert folder is not None, other  # noqa: S101  the stage declares it
    sets: Dict[str, int] = {}
    errors: Dict[str, str] = {}
    same: Dict[str, bool] = {}
    rule = None if params["recorded"] else _rule(params, side, other, errors)
    for name in SETS:
        if params["recorded"]:
            errors[name] = RECORDED
        elif not (folder / f"{name}.npy").exists():
            errors[name] = f"The {other} has no raw outputs of these tensors."
        elif rule is not None:
            try:
                sets[name], same[name] = _apply(rule, folder, name, into / "labels")
            except CaseCodeError as error:
                text = str(error)
                errors[name] = text.splitlines()[0] if privacy.is_private() else text
    (into / "labels" / "sets.json").write_text(json.dumps(sorted(sets)) + "\n", encoding="utf-8")
    report = {
        "schema_version": 1,
        "side": side,
        "sets": sets,
        "errors": errors,
        "same_rule": all(same.values()) if same else None,
        "says": params["postprocess"] or "the largest output wins",
    }
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    (into / "report.json").write_text(text, encoding="utf-8")


def _rule(params: Dict[str, Any], side: str, other: str, errors: Dict[str, str]) -> Optional[Rule]:
    try:
        return rule_of(params["postprocess"], params["task"], side, f"{other}.model")
    except CaseCodeError as error:
        text = str(error)
        errors.update(dict.fromkeys(SETS, text.splitlines()[0] if privacy.is_private() else text))
        return None


def _apply(rule: Rule, folder: Path, name: str, into: Path) -> Any:
    """Write one set's labels; return the rows, and whether the other side's rule says the same."""
    outputs = RowReader(folder / f"{name}.npy")
    theirs = folder / f"{name}.labels.npy"
    own = RowReader(theirs) if theirs.exists() else None
    same = own is not None
    writer = RowWriter(into / f"{name}.labels.npy", len(outputs), rule.dtype)
    with writer:
        try:
            if not len(outputs):
                writer.write(np.zeros(0, rule.dtype))
            for start in range(0, len(outputs), BATCH):
                labels = rule.label(outputs.read(start, start + BATCH))
                writer.write(labels)
                if own is not None:
                    given = own.read(start, start + BATCH)
                    same = same and bool(np.array_equal(labels.astype(rule.dtype), given))
        except CaseCodeError:
            writer.drop()
            raise
    return len(outputs), same
