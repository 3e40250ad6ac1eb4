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

FINE = (4801, 12.0)  # of two classes: scores on the grid, and how far it reaches; logits
COARSE = (801, 20.0)  # of more
MOST_CLASSES, MOST_WIDTH, SHIFTED = 4, 1000, 512
SHARES = 0.01  # so near to 1 rows of shares sum


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
    probe = None if rule is None else _probe(rule, folder, into / "labels")
    told = json.dumps({"sets": sorted(sets), "probe": probe})
    (into / "labels" / "sets.json").write_text(told + "\n", encoding="utf-8")
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


def _probe(rule: Rule, folder: Path, into: Path) -> Optional[Dict[str, Any]]:
    """Ask the rule about made-up outputs: one class's score from low to high, the others at 0.

    Where the label appears is the rule's threshold, whatever outputs the samples have. A rule that
    does not take them is not asked.
    """
    path = next((folder / f"{one}.npy" for one in SETS if (folder / f"{one}.npy").exists()), None)
    if rule.task != "classification" or path is None:
        return None
    seen = RowReader(path).read(0, BATCH)
    if not len(seen) or seen.shape[1] > MOST_WIDTH or not np.isfinite(seen).any():
        return None
    width = seen.shape[1]
    steps, reach = FINE if width <= 2 else COARSE  # noqa: PLR2004
    classes = [width - 1] if width <= 2 else list(range(min(width, MOST_CLASSES)))  # noqa: PLR2004
    grid = np.linspace(-reach, reach, steps)
    shares = bool(_are_shares(seen[np.isfinite(seen).all(axis=1)]))
    labels = []
    for one in classes:
        raw = np.zeros((steps, width), np.float32)
        raw[:, one] = grid
        if shares:
            raised = 0.5 * (1 + np.tanh(0.5 * grid))
            raw[:] = ((1 - raised) / max(width - 1, 1))[:, None]
            raw[:, one] = raised
        try:
            labels.append(np.asarray(rule.label(raw)).astype(rule.dtype))
        except CaseCodeError:
            return None
    np.save(str(into / "probe.labels.npy"), np.stack(labels))
    told = {"classes": classes, "reach": reach, "width": width, "shares": shares}
    return {**told, "shifts": None if shares or width == 1 else _shifts(rule, seen)}


def _shifts(rule: Rule, seen: Any) -> Optional[float]:
    """Return the share of labels that change when a number is added to all outputs of a row.

    A softmax, and the largest output, do not see it; a rule that lacks its softmax does.
    """
    finite = seen[np.isfinite(seen).all(axis=1)][:SHIFTED]
    if not len(finite):
        return None
    by = float(np.abs(finite).max()) + 1.0
    try:
        given = [np.asarray(rule.label(finite + np.float32(add))) for add in (0.0, by, -by)]
    except CaseCodeError:
        return None
    return float(max(np.mean(given[0] != one) for one in given[1:]))


def _are_shares(raw: Any) -> bool:
    if not len(raw) or raw.min() < 0 or raw.max() > 1:
        return False
    return raw.shape[1] == 1 or bool(np.abs(raw.sum(axis=1) - 1).max() < SHARES)
