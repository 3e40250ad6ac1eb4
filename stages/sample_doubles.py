"""Raw samples of training and validation, by content and by likeness; one block in memory."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.leakage import WIDTH, Shared, exact, fingerprints, near, standardised
from sides.tensors import RowReader
from stages.dataset import SAMPLES, own_group
from stages.sample_table import UnreadableError, read_sample

if TYPE_CHECKING:
    import pandas as pd

BLOCK_BYTES = 8 << 20
TABLE_WIDTH = 64  # numbers of a row that are columns, not a signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubles:
    """What validation shares with training, row by row of validation."""

    exact: Shared
    near: Shared | None
    why_not_near: str | None
    in_shared_groups: NDArray[np.bool_]
    num_shared_groups: int
    num_train: int

    @property
    def leaked(self) -> NDArray[np.bool_]:
        """Rows that training holds, where that is more than chance."""
        made = np.zeros_like(self.in_shared_groups)
        for one in (self.exact, self.near):
            if one is not None and one.found:
                made |= one.leaked
        return made


@dataclass(frozen=True, slots=True)
class Set:
    """A dataset folder with the rows of it that are compared."""

    folder: Path
    table: "pd.DataFrame"

    def digests(self) -> list[str]:
        """Hash each sample's content."""
        if self.table["path"].astype(bool).any():
            return [_file_digest(self.folder / path) for path in self.table["path"]]
        return [_digest(row) for block in self._blocks() for row in block]

    def vectors(self, at: NDArray[np.intp]) -> tuple[NDArray[Any], bool]:
        """Return the samples at these places in few numbers each, and whether they are a table."""
        if self.table["path"].astype(bool).any():
            made = [_of_file(self.folder, self.table["path"].iloc[one]) for one in at]
            return np.stack(made), False
        rows = self.table["row"].to_numpy(dtype=int)[at]
        reader = RowReader(self.folder / SAMPLES)
        is_table = len(reader.shape) == 2 and reader.shape[1] <= TABLE_WIDTH  # noqa: PLR2004
        step = _step(reader)
        parts = [reader.take(list(rows[it : it + step])) for it in range(0, len(rows), step)]
        if is_table:
            return np.concatenate(parts).astype(np.float64), True
        return np.concatenate([fingerprints(part) for part in parts]), False

    def _blocks(self) -> Iterator[NDArray[Any]]:
        reader = RowReader(self.folder / SAMPLES)
        rows = self.table["row"].to_numpy(dtype=int)
        step = _step(reader)
        for start in range(0, len(rows), step):
            wanted = rows[start : start + step]
            first, last = int(wanted[0]), int(wanted[-1]) + 1
            if np.array_equal(wanted, np.arange(first, last)):  # one read, not one a row
                yield reader.read(first, last)
            else:
                yield reader.take(list(wanted))


def _step(reader: RowReader) -> int:
    size = int(np.prod(reader.shape[1:], dtype=np.int64)) * 8
    return max(1, BLOCK_BYTES // max(size, 1))


def _digest(sample: NDArray[Any]) -> str:
    return hashlib.blake2b(sample.tobytes(), digest_size=16).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _of_file(folder: Path, name: str) -> NDArray[np.float32]:
    try:
        sample = read_sample(folder, name)
    except UnreadableError:
        return np.zeros(WIDTH, np.float32)
    if sample.dtype.kind not in "biuf" or not sample.size:
        return np.zeros(WIDTH, np.float32)
    return np.asarray(fingerprints(sample[None])[0])


def compare(train: Set, validation: Set, *, max_train: int, max_rows: int, seed: int) -> Doubles:
    """Compare content of all rows, likeness of a seeded choice, and groups."""
    groups = own_group(train.table).to_numpy(dtype=str)
    found = exact(train.digests(), validation.digests(), list(groups))
    likeness, why_not = _near(train, validation, groups, (max_train, max_rows), seed)
    stated = set(train.table["group"]) - {""}
    inside = validation.table["group"].isin(stated).to_numpy()
    return Doubles(
        exact=found,
        near=likeness,
        why_not_near=why_not,
        in_shared_groups=inside,
        num_shared_groups=len(stated & set(validation.table["group"])),
        num_train=len(train.table),
    )


def _near(
    train: Set, validation: Set, groups: NDArray[Any], most: tuple[int, int], seed: int
) -> tuple[Shared | None, str | None]:
    ours = _choice(len(train.table), most[0], seed)
    theirs = _choice(len(validation.table), most[1], seed + 1)
    left, is_table = train.vectors(ours)
    right, other = validation.vectors(theirs)
    if left.shape[1:] != right.shape[1:] or is_table != other:
        return None, "Samples of training and validation have other shapes."
    if is_table:
        left, right = standardised(left, right)
        if not left.shape[1]:
            return None, "No column of training varies."
    found = near(left, right, list(groups[ours]), seed=seed)
    leaked = np.zeros(len(validation.table), bool)
    leaked[theirs] = found.leaked
    return (
        Shared(
            leaked=leaked,
            expected=found.expected,
            p_value=found.p_value,
            found=found.found,
            nearer_than=found.nearer_than,
        ),
        None,
    )


def _choice(count: int, most: int, seed: int) -> NDArray[np.intp]:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))
