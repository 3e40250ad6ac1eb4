"""Both sides' outputs of one step, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.parity import Difference, compare
from sides.steps import align, step_key
from stages.dataset import find_step, read_step
from stages.reports.parity import StepDifference
from stages.reports.preprocess import PreprocessReport

Rows = NDArray[Any] | list[NDArray[Any]]  # a list where the samples' shapes or types differ
WHOLE = "preprocessing"  # the name of the only pair when single steps cannot be paired


@dataclass(frozen=True, slots=True)
class Pair:
    """One step's outputs over the paired rows."""

    key: str
    step: str
    reference: Rows
    candidate: Rows

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Both as arrays, or None where one side's samples have several shapes."""
        if isinstance(self.reference, list) or isinstance(self.candidate, list):
            return None
        return self.reference, self.candidate

    def difference(self, atol: float, rtol: float) -> tuple[StepDifference, list[int]]:
        """Return what the report says, and the rows that differ, the worst first."""
        if self.arrays is not None:
            found = compare(*self.arrays, atol=atol, rtol=rtol)
            worst = list(found.worst_rows) or ([] if found.equal else list(range(found.num_rows)))
            return _report(self.step, [found], found), worst
        singles = [
            compare(np.asarray(left)[None], np.asarray(right)[None], atol=atol, rtol=rtol)
            for left, right in zip(self.reference, self.candidate, strict=True)
        ]
        differing = [row for row, single in enumerate(singles) if not single.equal]
        order = sorted(differing, key=lambda row: -(singles[row].max_abs or np.inf))
        return _report(self.step, singles, singles[order[0] if order else 0]), order


def isolated(folder: Path, key: str, step: str) -> Pair | None:
    """Return a step's outputs on one and the same input; None where the exchange failed."""
    reference, candidate = (
        find_step(folder, f"{key}.{side}") for side in ("reference", "candidate")
    )
    if reference is None or candidate is None:
        return None
    return Pair(key, step, read_step(folder, reference), read_step(folder, candidate))


def chain(
    reports: tuple[PreprocessReport, PreprocessReport], folders: tuple[Path, Path], swaps: Path
) -> list[Pair]:
    """Return the pairs in the order of the steps, each with all steps before it.

    Where one side has no such step, its last output before it stands in; before its first step the
    exchange's own input does (`swaps`). Where steps cannot be paired, only the last outputs are.
    """
    steps = [[step.model_dump() for step in report.steps] for report in reports]
    slots = align(*steps)
    if slots is None:
        last = [_read(folders[i], steps[i], len(steps[i]) - 1) for i in range(2)]
        return [Pair(step_key(0, WHOLE), WHOLE, last[0], last[1])]
    pairs, latest = [], [-1, -1]
    for slot in slots:
        latest = [latest[0] if slot.reference is None else slot.reference, latest[1]]
        latest = [latest[0], latest[1] if slot.candidate is None else slot.candidate]
        if min(latest) < 0:
            alone = isolated(swaps, slot.key, slot.name)
            pairs += [] if alone is None else [alone]
            continue
        rows = [_read(folders[i], steps[i], latest[i]) for i in range(2)]
        pairs.append(Pair(slot.key, slot.name, rows[0], rows[1]))
    return pairs


def _read(folder: Path, steps: Sequence[dict[str, Any]], position: int) -> Rows:
    return read_step(folder, steps[position]["file"])


def _report(step: str, parts: list[Difference], example: Difference) -> StepDifference:
    """Sum up; `example` (the whole, or the worst sample) gives shapes and types."""

    def known(values: list[float | None]) -> list[float] | None:
        return (
            None if any(value is None for value in values) else [v for v in values if v is not None]
        )

    widest = known([part.max_abs for part in parts])
    means = known([part.mean_abs for part in parts])
    shares = known([part.share_differing for part in parts])
    return StepDifference(
        step=step,
        equal=all(part.equal for part in parts),
        max_abs=None if widest is None else max(widest),
        mean_abs=None if means is None else float(np.mean(means)),
        share_differing=None if shares is None else float(np.mean(shares)),
        shape_reference=list(example.shape_reference[1:]),
        shape_candidate=list(example.shape_candidate[1:]),
        dtype_reference=example.dtype_reference,
        dtype_candidate=example.dtype_candidate,
        note=_note(parts, example),
    )


def _note(parts: list[Difference], example: Difference) -> str | None:
    notes = []
    if example.shape_reference != example.shape_candidate:
        notes.append("the shapes differ")
    nans = sum(part.num_nan_mismatch for part in parts)
    infinities = sum(part.num_inf_mismatch for part in parts)
    if nans:
        notes.append(f"{nans} values are NaN on one side only")
    if infinities:
        notes.append(f"{infinities} values are infinite on one side only")
    if example.dtype_reference != example.dtype_candidate:
        notes.append(
            "the types differ" if notes else "the types differ, which alone is no difference"
        )
    return "; ".join(notes) or None
