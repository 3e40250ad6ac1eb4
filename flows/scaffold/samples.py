"""Raw samples on their way from a source to a dataset folder, one at a time."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from flows.faults import Faults
from stages.dataset import SAMPLES
from stages.dataset_folder import COLUMNS, MISSING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESERVED = (*COLUMNS, "label_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns that a person named; None: the usual names are looked for."""

    label: str | None = None
    id: str | None = None
    group: str | None = None
    sample: str | None = None


@dataclass(slots=True, kw_only=True)
class Item:
    """One raw sample: a row of an array, or a file by its bytes or its place."""

    id: str
    sample: "NDArray[Any] | bytes | Path"
    file: str = ""  # where a file shall stand in the dataset folder
    label: str = ""  # as its source has it
    group: str = ""
    free: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Reading:
    """An open source: what kind it is, and its samples, which can be read once."""

    kind: str  # for people: "a folder of pictures, one folder a class"
    items: Iterator[Item]
    class_names: tuple[str, ...] | None = None  # in the source's own order, where it states one
    features: tuple[str, ...] | None = None  # of a table: the columns that became numbers
    notes: list[str] = field(default_factory=list)  # what was decided on the way, for a person


Rows = list[dict[str, str]]
"""A manifest, without samples: id, row, path, label, group, free columns."""


def write_samples(reading: Reading, target: Path, where: str) -> Rows:
    """Write the samples of a source into a folder, one after another.

    Returns:
        The rows of its manifest, whose labels are still as the source has them.

    Raises:
        Faults: a sample has another shape or type than those before it, an id stands twice, or
            there is no sample.
    """
    target.mkdir(parents=True)
    rows: Rows = []
    known: set[str] = set()
    with GrowingArray(target / SAMPLES) as array:
        for item in reading.items:
            if item.id in known:
                told = f"the id {item.id} stands twice, again in row {len(rows)} (from 0)"
                raise Faults(f"{where}: {told}. Name the column of the ids: --id-column.")
            known.add(item.id)
            row = {"id": item.id, "row": "", "path": ""}
            if item.file:
                row["path"] = _write_file(item, target, where)
            else:
                row["row"] = str(array.append(item.sample, f"{where}: {item.id}"))
            rows.append(row | {"label": item.label, "group": item.group} | item.free)
    if not rows:
        raise Faults(f"{where}: no sample in it.")
    return rows


def _write_file(item: Item, target: Path, where: str) -> str:
    path = target / safe_path(item.file, f"{where}: {item.id}")
    if path.exists():
        raise Faults(f"{where}: {item.file} stands there twice.")
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(item.sample, Path):
        if item.sample.is_symlink() or not item.sample.is_file():
            raise Faults(f"{where}: {item.sample} is a link or no file; put the file itself there.")
        shutil.copyfile(item.sample, path)
    else:
        path.write_bytes(bytes(item.sample))
    return item.file


def safe_path(name: str, where: str) -> str:
    """Return a relative path that stays in its folder.

    Raises:
        Faults: it leads out of the folder, or cannot be written as text.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
        raise Faults(f"{where}: {name!r} leads out of its folder, or is no plain name; refused.")
    return name


class GrowingArray:
    """A .npy file whose number of rows is known at its end; none is made of no rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None
        self._first: Any = None
        self._num_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        if self._file is not None:
            if kind is None:
                self._file.seek(0)
                self._write_header()
            self._file.close()

    def append(self, sample: Any, what: str) -> int:
        """Write one row and return its position.

        Raises:
            Faults: it is no array of numbers, or unlike the rows before it.
        """
        import numpy as np

        row = np.asarray(sample)
        if row.dtype.kind not in "biuf" or row.ndim == 0:
            raise Faults(f"{what}: expected numbers with at least one axis, got {described(row)}.")
        if self._file is None:
            self._first = row
            self._file = self._path.open("wb")
            self._write_header()
        if row.shape != self._first.shape or row.dtype != self._first.dtype:
            told = f"{described(row)}; the samples before it are {described(self._first)}"
            raise Faults(f"{what} is {told}. Rows of one array are alike; else use files.")
        self._file.write(np.ascontiguousarray(row).tobytes())
        self._num_rows += 1
        return self._num_rows - 1

    def _write_header(self) -> None:
        from numpy.lib import format as npy

        # numpy leaves room in the header for the first axis to grow.
        shape = (self._num_rows, *self._first.shape)
        header = {"descr": self._first.dtype.str, "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._file, header)


def described(array: "NDArray[np.generic]") -> str:
    """Return an array's type and shape: uint8 8x8."""
    return f"{array.dtype} {'x'.join(map(str, array.shape)) or 'without an axis'}"


def text_of(value: Any) -> str:
    """Return a cell as the text of a manifest: '' for what is missing, JSON for what is nested."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        text = value.decode("utf-8", errors="replace")
        value = text if text.isprintable() else f"{len(value)} bytes"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    text = str(value).strip()
    return "" if text.lower() in MISSING else text


def is_number(text: str) -> bool:
    """Tell whether a text is one number, infinite ones included."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python's own way to write 1_000


def free_columns(cells: dict[str, Any]) -> dict[str, str]:
    """Return free metadata; a name that a manifest needs itself gets `source_` before it."""
    named = {}
    for name, value in cells.items():
        named[f"source_{name}" if name in RESERVED else name] = text_of(value)
    return named


def pick(named: str | None, usual: tuple[str, ...], columns: list[str]) -> str | None:
    """Return the column that is meant: the named one, else the only one with a usual name."""
    if named is not None:
        return named if named in columns else None
    found = [column for column in columns if column.lower() in usual]
    return found[0] if len(found) == 1 else None


LABEL_NAMES = ("label", "labels", "target", "y", "class")
ID_NAMES = ("id", "sample_id", "uuid", "key", "__key__")
GROUP_NAMES = ("group", "session", "device")
