"""Sends what the candidate's exchanged steps made through the reference's later steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError
from sides.records import read_records
from sides.rows import read_roles
from sides.slots import Chain, chain_of, read, save, values
from sides.steps import apply_copy, loaded, said
from sides.tensors import RowWriter, save_step

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.rows import Row
    from sides.steps import Step

Pair = Tuple["NDArray[Any]", "NDArray[Any]"]  # the reference's step and the candidate's, one row


def run(params: Dict[str, Any], inputs: Dict[str, Path], into: Path, side: str) -> None:
    """Write report.json, tensors/ and steps/ as `stages.reports.swap` says."""
    (into / "tensors").mkdir()
    (into / "steps").mkdir()
    chain = chain_of(params)
    before, made = read(inputs["inputs_report"]), read(inputs["steps_report"])
    report: Dict[str, Any] = {"schema_version": 1}
    steps: List[Dict[str, Any]] = []
    if chain is None or "not_applicable" in before:
        report["not_applicable"] = before["not_applicable"]
    else:
        rows = read_roles(inputs["roles"], "real")
        paired = set(read(inputs["reference"])["paired"])
        by_key = {slot["key"]: slot for slot in made["slots"]}
        for slot in before["slots"]:
            told = by_key[slot["key"]]
            if not told["same"]:
                exchange = _Exchange(chain, slot, told, rows, paired)
                steps.append(exchange.run(inputs, into, side))
        report["steps"] = steps
    save(into / "report.json", report)
    # A list of what is there: DVC does not keep an empty folder.
    whole = [step["key"] for step in steps if step["error"] is None]
    save(into / "tensors" / "keys.json", whole)
    pairs = sorted({path.name.partition(".")[0] for path in (into / "steps").glob("*.np[yz]")})
    save(into / "steps" / "keys.json", pairs)


class _Exchange:
    """One exchanged slot; what fails is a finding and ends this slot alone."""

    def __init__(
        self,
        chain: Chain,
        slot: Dict[str, Any],
        made: Dict[str, Any],
        rows: List[Row],
        paired: set[str],
    ) -> None:
        self._chain, self._slot, self._made = chain, slot, made
        self._rows, self._paired = rows, paired
        self.error: Optional[str] = made["error"]

    def run(self, inputs: Dict[str, Path], into: Path, side: str) -> Dict[str, Any]:
        """Write the tensors and the pairs; return this slot's part of the report."""
        key = self._slot["key"]
        if self.error is None:
            pairs = self._send(inputs, into / "tensors" / f"{key}.npy", side)
            if pairs:
                save_step(into / "steps", f"{key}.reference", [left for left, _ in pairs])
                save_step(into / "steps", f"{key}.candidate", [right for _, right in pairs])
        slot = self._chain.slots[self._slot["index"]]
        reference, candidate = self._chain.reference, self._chain.candidate
        left = "" if slot.reference is None else said(reference[slot.reference])
        right = "" if slot.candidate is None else said(candidate[slot.candidate]) or "recorded"
        return {
            "key": key,
            "name": slot.name,
            "reference_call": left,
            "candidate_call": right,
            "error": self.error,
        }

    def _send(self, inputs: Dict[str, Path], path: Path, side: str) -> List[Pair]:
        """Go over the rows once; return both steps' outputs on the paired ones."""
        later = self._chain.slots[self._slot["index"] + 1 :]
        stated = [self._chain.reference[s.reference] for s in later if s.reference is not None]
        pairs: List[Pair] = []
        after = self._after(inputs)
        with loaded(side, stated) as steps, RowWriter(path, len(self._rows)) as writer:
            for number, row, value in zip(  # noqa: B905  Python 3.9 knows no strict
                range(len(self._rows)), self._rows, self._given(inputs)
            ):
                if row.id in self._paired:
                    left = next(after) if after is not None else value
                    if isinstance(left, np.ndarray) and isinstance(value, np.ndarray):
                        pairs.append((np.array(left), np.array(value)))
                if self.error is None:
                    self._rest(steps, value, number, row.id, writer)
        return pairs

    def _given(self, inputs: Dict[str, Path]) -> Any:
        """Yield the value of each row behind the exchanged step."""
        if self._made["made"] == "records":
            return read_records(inputs["steps_values"] / f"{self._slot['key']}.npys")
        before = self._slot["before"]  # the step is left out: its input passes
        return values(inputs["inputs_values"], before, inputs["real"], self._rows)

    def _after(self, inputs: Dict[str, Path]) -> Any:
        """Yield what the reference's own step made of the paired rows; None: it has none there."""
        file = self._slot["after"]
        return None if file is None else read_records(inputs["inputs_values"] / file)

    def _rest(
        self, steps: List[Step], value: Any, number: int, sample: str, writer: RowWriter
    ) -> None:
        try:
            for step in steps:
                value = apply_copy(step, value, number, sample)
            if not isinstance(value, np.ndarray):
                raise TypeError("is no array")  # noqa: TRY301  ends as a shape that differs does
            writer.write(value[None])
        except CaseCodeError as error:
            self.error = f"The reference's later steps do not take its output. {error}"
        except (TypeError, ValueError) as error:
            self.error = (
                f"The exchanged chain's output for sample {number}{privacy.named(sample)} {error}."
            )
        if self.error:
            writer.drop()
