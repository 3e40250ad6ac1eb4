"""What production answered, in the order of the rows; and what a recording cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError
from sides.recorded import Recording
from sides.rules import largest
from sides.tensors import RowReader

if TYPE_CHECKING:
    from pathlib import Path

    from sides.rows import Row

BATCH = 4096
SHOWN = 5  # ids of rows whose outputs are no numbers
UNLABELLED = -1
CANNOT = {
    "sim": "recorded: what the deployed model would answer to simulated rows was not logged.",
    "real-reference": (
        "recorded: what the deployed model would answer to the reference's tensors was not logged."
    ),
}
LARGEST = 2.0**53  # whole numbers beyond it have no exact float
NOTHING = "recorded: no predictions were logged."
LABELS_ALONE = "recorded: labels were logged, raw outputs were not."


def predict_recorded(
    folder: Path, rows: Sequence[Row], into: Path, side: str, params: Dict[str, Any]
) -> Dict[str, Any]:
    """Write the logged answers as the side's own set; return the report's fields.

    Raises:
        CaseCodeError: labels cannot be told from the outputs alone.
    """
    recording, own = Recording(folder, side), f"real-{side}"
    absent = {name: text for name, text in CANNOT.items() if name != own}
    if side == "last_good":
        del absent["real-reference"]
    report: Dict[str, Any] = {"model": "recorded", "sets": {}, "errors": {}, "absent": absent}
    report.update({"num_nonfinite_rows": {}, "nonfinite_rows": {}, "no_outputs": {}})
    lacking = recording.lacks(rows)
    has_outputs, has_labels = recording.has("outputs"), recording.has("labels")
    if not (has_outputs or has_labels):
        absent[own] = NOTHING
    elif lacking:
        absent[own] = f"recorded: {lacking} of {len(rows)} real rows are not in the recording."
    else:
        _write(recording, rows, into / "outputs", own, params["task"])
        report["sets"] = {own: len(rows)}
        odd = _nonfinite(into / "outputs" / f"{own}.npy")
        report["num_nonfinite_rows"] = {own: len(odd)}
        report["nonfinite_rows"] = named_rows({own: odd}, rows)
        if not (into / "outputs" / f"{own}.npy").exists():
            report["no_outputs"] = {own: LABELS_ALONE}
    return report


def _write(recording: Recording, rows: Sequence[Row], folder: Path, own: str, task: str) -> None:
    dtype = "<f8" if task == "regression" else "<i8"
    outputs, labels = folder / f"{own}.npy", folder / f"{own}.labels.npy"
    if recording.has("outputs"):
        recording.copy("outputs", rows, outputs, "<f4", BATCH)
    if recording.has("labels"):
        logged = recording.take(recording.reader("labels"), rows)
        np.save(str(labels), _checked(task, logged, recording.side).astype(dtype))
    else:
        raw = RowReader(outputs).read(0, len(rows))
        np.save(str(labels), _told(task, raw, recording.side).astype(dtype))
    if task == "regression" and not outputs.exists():  # the prediction is its own raw output
        np.save(str(outputs), np.load(str(labels)).astype("<f4")[:, None])


def _checked(task: str, labels: Any, side: str) -> Any:
    """Return logged labels; of a classification whole numbers, -1 where none was logged."""
    if task == "regression" or labels.dtype.kind != "f":
        return labels
    filled = np.where(np.isnan(labels), UNLABELLED, labels)
    if not (np.array_equal(filled, np.round(filled)) and np.abs(filled).max(initial=0) < LARGEST):
        text = f"{side}.recorded: its labels are no class numbers: fractions, or far too large."
        raise CaseCodeError(text)
    return filled


def _told(task: str, raw: Any, side: str) -> Any:
    width = raw.shape[1]
    if (width == 1) == (task == "regression"):
        return raw[:, 0] if task == "regression" else largest(raw)
    text = f"{side}.recorded: {width} outputs a row were logged and no labels; log the labels too."
    raise CaseCodeError(text)


def _nonfinite(path: Path) -> List[int]:
    if not path.exists():
        return []
    reader = RowReader(path)
    found: List[int] = []
    for start in range(0, len(reader), BATCH):
        odd = ~np.isfinite(reader.read(start, start + BATCH)).all(axis=1)
        found += (start + np.flatnonzero(odd)).tolist()
    return found


def named_rows(odd: Dict[str, List[int]], rows: Sequence[Row]) -> Dict[str, List[str]]:
    """Return the ids of each set's first odd rows; none where ids are private."""
    if privacy.is_private():
        return {}
    told = {
        name: [rows[at].id for at in found[:SHOWN] if at < len(rows)] for name, found in odd.items()
    }
    return {name: ids for name, ids in told.items() if ids}
