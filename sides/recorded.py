"""What production logged of a side that is not run: arrays by id, as `stages.data` took them in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from sides.case_code import CaseCodeError
from sides.tensors import RowReader, RowWriter

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.rows import Row

WHOLE = "preprocessing"  # the only step of a recording whose steps have no names
INPUT = "input"  # what the model got


class Recording:
    """One side's logged arrays. Rows are found by id; nothing is held in memory but the ids."""

    def __init__(self, folder: Path, side: str) -> None:
        self.side = side
        self._folder = folder / side
        self.ids: List[str] = json.loads((self._folder / "ids.json").read_text(encoding="utf-8"))
        self._at = {name: position for position, name in enumerate(self.ids)}

    def has(self, name: str) -> bool:
        """Tell whether an array of this name was logged: input, step_decode, outputs, labels."""
        return (self._folder / f"{name}.npy").is_file()

    def lacks(self, rows: Sequence[Row]) -> int:
        """Return how many of these rows it does not hold."""
        return sum(row.id not in self._at for row in rows)

    def reader(self, name: str) -> RowReader:
        """Open an array; its order is the recording's own: see `take`."""
        return RowReader(self._folder / f"{name}.npy")

    def take(self, reader: RowReader, rows: Sequence[Row]) -> NDArray[Any]:
        """Return an opened array's rows for these samples, in their order."""
        return reader.take([self._at[row.id] for row in rows])

    def copy(self, name: str, rows: Sequence[Row], path: Path, dtype: str, batch: int) -> None:
        """Write an array for these samples, in their order."""
        reader = self.reader(name)
        with RowWriter(path, len(rows), dtype) as writer:
            for start in range(0, max(len(rows), 1), batch):
                writer.write(self.take(reader, rows[start : start + batch]))

    def step(self, steps: Sequence[Dict[str, Any]], position: int) -> str:
        """Return the array that holds a step's output: the last step's is the model's input.

        Raises:
            CaseCodeError: it was not logged.
        """
        if position == len(steps) - 1 and self.has(INPUT):
            return INPUT
        name = f"step_{steps[position]['name']}"
        if self.has(name):
            return name
        text = f"{self.side}.steps[{position}]: the recording holds no {name}."
        raise CaseCodeError(f"{text} Log it, or leave the step's name out of case.yaml.")


def named_steps(steps: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Return a recorded side's steps; the whole preprocessing is one where none is named."""
    return [dict(step) for step in steps] or [{"name": WHOLE, "call": None, "args": {}}]
