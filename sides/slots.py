"""Which steps are exchanged: where the sides' steps differ, and which values go in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

import numpy as np

from sides.recorded import named_steps
from sides.records import read_records
from sides.rows import Samples
from sides.steps import align

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.rows import Row
    from sides.steps import Slot

UNPAIRED = (
    "The sides' steps cannot be paired: "
    "they have no name in common, or the same names in another order."
)


class Chain(NamedTuple):
    """Both sides' steps, slot by slot."""

    slots: List[Slot]
    reference: List[Dict[str, Any]]
    candidate: List[Dict[str, Any]]

    def is_stated(self, index: int) -> bool:
        """Tell whether the steps differ as they are stated, whatever they compute."""
        slot = self.slots[index]
        if slot.reference is None or slot.candidate is None:
            return True
        left, right = self.reference[slot.reference], self.candidate[slot.candidate]
        return any(left.get(key) != right.get(key) for key in ("call", "command", "args"))

    def is_raw(self, index: int) -> bool:
        """Tell whether the value before a slot is still the raw sample."""
        return all(slot.reference is None for slot in self.slots[:index])


def chain_of(params: Dict[str, Any]) -> Optional[Chain]:
    """Return the paired steps of a stage's params; None when they cannot be paired."""
    reference, candidate = list(params["reference_steps"]), list(params["candidate_steps"])
    if params["recorded"]:
        candidate = named_steps(candidate)
    slots = align(reference, candidate)
    return None if slots is None else Chain(slots, reference, candidate)


def values(
    folder: Path, file: Optional[str], real: Path, rows: Sequence[Row]
) -> Iterator[NDArray[Any] | bytes]:
    """Yield a value for each row: out of a file of records; the raw sample where there is none."""
    if file is not None:
        yield from read_records(folder / file)
        return
    samples = Samples(real)
    for row in rows:
        yield samples.raw(row)


def close(left: Any, right: Any, atol: float, rtol: float) -> bool:
    """Tell whether two values are equal up to a tolerance; NaN equals NaN."""
    if isinstance(left, bytes) or isinstance(right, bytes):
        return bool(left == right) if isinstance(left, type(right)) else False
    if left.shape != right.shape:
        return False
    ours, theirs = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return bool(np.allclose(ours, theirs, atol=atol, rtol=rtol, equal_nan=True))


def save(path: Path, content: Any) -> None:
    """Write JSON."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> Any:
    """Read JSON."""
    return json.loads(path.read_text(encoding="utf-8"))
