"""The rows of roles.csv and the raw samples behind them, one at a time."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional

from sides.tensors import RowReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Raw = NDArray[Any] | bytes


class Row(NamedTuple):
    """One line of roles.csv; all text."""

    dataset: str
    id: str
    row: str  # the position in samples.npy, or empty
    path: str  # the file, relative to the dataset's folder, or empty
    label: str
    group: str
    role: str


def read_roles(path: Path, dataset: str) -> List[Row]:
    """Return one dataset's rows in the order of its tensors."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Row(*(line[name] for name in Row._fields))
            for line in csv.DictReader(file)
            if line["dataset"] == dataset
        ]


def paired(rows: List[Row], num_paired: int) -> List[int]:
    """Return the positions that are compared step by step: of role diagnose first, then unlabelled.

    Parity needs no label, so that a set without any can still be examined; rows of roles fit and
    prove are never looked at. Sorted.
    """
    chosen = [i for i, row in enumerate(rows) if row.role == "diagnose"][:num_paired]
    spare = [i for i, row in enumerate(rows) if row.role == "unlabelled"]
    return sorted(chosen + spare[: num_paired - len(chosen)])


class Samples:
    """A dataset folder's raw samples: an array's row, or a file's bytes; none is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._array: Optional[RowReader] = None

    def raw(self, row: Row) -> Raw:
        """Return what the first step is given; an array is a fresh copy, free to be written to."""
        if row.path:
            return (self._folder / row.path).read_bytes()
        if self._array is None:
            self._array = RowReader(self._folder / "samples.npy")
        start = int(row.row)
        sample: NDArray[Any] = self._array.read(start, start + 1)[0]
        return sample
