"""Takes one differing step at a time from the candidate and keeps all others of the reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError
from sides.rows import Samples, read_roles
from sides.steps import align, apply, load_step
from sides.tensors import RowWriter, save_step

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.rows import Row
    from sides.steps import Slot, Step

UNPAIRED = (
    "The sides' steps cannot be paired: "
    "they have no name in common, or the same names in another order."
)


def run(params: Dict[str, Any], inputs: Dict[str, Path], into: Path, side: str) -> None:  # noqa: ARG001  the reference's image only
    """Write report.json, tensors/ and steps/ as `stages.reports.swap` says."""
    (into / "tensors").mkdir()
    (into / "steps").mkdir()
    reference, candidate = params["reference_steps"], params["candidate_steps"]
    slots = align(reference, candidate)
    report: Dict[str, Any] = {"schema_version": 1}
    swaps: List[_Swap] = []
    if slots is None:
        report["not_applicable"] = UNPAIRED
    else:
        rows = read_roles(inputs["roles"], "real")
        chain = [_step("reference", reference, slot.reference) for slot in slots]
        differing = [i for i, slot in enumerate(slots) if _differs(slot, reference, candidate)]
        swaps = [_Swap(i, slots[i], candidate, len(rows), into) for i in differing]
        preprocessed = json.loads(inputs["reference"].read_text(encoding="utf-8"))
        paired = set(preprocessed["paired"])
        if swaps:
            try:
                _exchange(chain, swaps, rows, Samples(inputs["real"]), paired)
            finally:
                for swap in swaps:
                    swap.writer.close()
        report["steps"] = [swap.finish(reference, candidate) for swap in swaps]
    _save(into / "report.json", report)
    # A list of what is there: DVC does not keep an empty folder.
    _save(into / "tensors" / "keys.json", [swap.slot.key for swap in swaps if swap.complete])
    _save(into / "steps" / "keys.json", [swap.slot.key for swap in swaps if swap.pairs])


def _step(side: str, steps: Sequence[Dict[str, Any]], position: Optional[int]) -> Optional[Step]:
    return None if position is None else load_step(side, position, steps[position])


def _differs(slot: Slot, reference: List[Dict[str, Any]], candidate: List[Dict[str, Any]]) -> bool:
    if slot.reference is None or slot.candidate is None:
        return True
    left, right = reference[slot.reference], candidate[slot.candidate]
    return (left["call"], left["args"]) != (right["call"], right["args"])


def _exchange(
    chain: List[Optional[Step]],
    swaps: List[_Swap],
    rows: List[Row],
    samples: Samples,
    paired: set[str],
) -> None:
    """Go once over the rows; the reference's values up to a slot are computed once and shared."""
    for number, row in enumerate(rows):
        values = [samples.raw(row)]
        for step in chain[: swaps[-1].index + 1]:
            values.append(_apply(step, values[-1], number, row.id))
        for swap in swaps:
            before, after = values[swap.index], values[swap.index + 1]
            swap.take(chain, before, after if row.id in paired else None, number, row.id)


def _apply(step: Optional[Step], value: Any, number: int, sample: str) -> Any:
    """Apply a step to a copy, so that one that works in place changes nobody else's input."""
    copy = np.array(value) if isinstance(value, np.ndarray) else value
    return copy if step is None else apply(step, copy, number, sample)


class _Swap:
    """One exchanged slot, filled row by row; a step that fails is a finding and ends this slot."""

    def __init__(
        self, index: int, slot: Slot, steps: List[Dict[str, Any]], num_rows: int, into: Path
    ) -> None:
        self.index = index
        self.slot = slot
        self.pairs: List[Tuple[NDArray[Any], NDArray[Any]]] = []
        self.error: Optional[str] = None
        self._steps_folder = into / "steps"
        self.writer = RowWriter(into / "tensors" / f"{slot.key}.npy", num_rows)
        self._step: Optional[Step] = None
        self._step_fails = False  # by itself; else it is the reference's later steps that refuse
        try:
            self._step = _step("candidate", steps, slot.candidate)
        except CaseCodeError as error:
            self._fail(error)

    @property
    def complete(self) -> bool:
        """All rows went through."""
        return self.error is None

    def _fail(self, error: CaseCodeError) -> None:
        self.error, self._step_fails, self.pairs = str(error), True, []
        self.writer.drop()

    def take(
        self, chain: List[Optional[Step]], before: Any, after: Any, number: int, sample: str
    ) -> None:
        """Take one row: its value before this slot; after it too when the row is a paired one."""
        if self._step_fails:
            return
        try:
            value = _apply(self._step, before, number, sample)
        except CaseCodeError as error:
            self._fail(error)
            return
        if after is not None and isinstance(value, np.ndarray) and isinstance(after, np.ndarray):
            self.pairs.append((np.array(after), np.array(value)))
        if self.error is None:
            self._rest(chain, value, number, sample)

    def _rest(self, chain: List[Optional[Step]], value: Any, number: int, sample: str) -> None:
        try:
            for step in chain[self.index + 1 :]:
                value = _apply(step, value, number, sample)
            if not isinstance(value, np.ndarray):
                raise TypeError("is no array")  # noqa: TRY301  ends as a shape that differs does
            self.writer.write(value[None])
        except CaseCodeError as error:
            self.error = f"The reference's later steps do not take its output. {error}"
        except (TypeError, ValueError) as error:
            self.error = (
                f"The exchanged chain's output for sample {number}{privacy.named(sample)} {error}."
            )
        if self.error:
            self.writer.drop()

    def finish(
        self, reference: List[Dict[str, Any]], candidate: List[Dict[str, Any]]
    ) -> Dict[str, Any]:
        """Save the pairs and return this slot's part of the report."""
        if self.pairs:
            key = self.slot.key
            save_step(self._steps_folder, f"{key}.reference", [left for left, _ in self.pairs])
            save_step(self._steps_folder, f"{key}.candidate", [right for _, right in self.pairs])
        left, right = self.slot.reference, self.slot.candidate
        return {
            "key": self.slot.key,
            "name": self.slot.name,
            "reference_call": "" if left is None else reference[left]["call"],
            "candidate_call": "" if right is None else candidate[right]["call"],
            "error": self.error,
        }


def _save(path: Path, content: Any) -> None:
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")
