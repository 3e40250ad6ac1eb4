"""Takes in what production logged of a side: tensors.npz and predictions, checked and by id."""

import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sides import privacy
from stages.dataset import UNREADABLE
from stages.reports.data import RecordedSummary
from stages.stage import InputFault

TENSORS = "tensors.npz"
PREDICTIONS = ("predictions.parquet", "predictions.csv", "predictions.npz")
BLOCK_BYTES = 1 << 24  # how much of an array is in memory at once
NUMERIC = "biuf"


class Member:
    """One array of a .npz, read block by block; a pickle is never opened."""

    def __init__(self, file: Path, key: str, where: str) -> None:
        self._file, self._key, self.where = file, key, f"{where}: {key}"
        with self._opened() as (_, shape, fortran, dtype):
            self.shape, self._fortran, self.dtype = shape, fortran, dtype
        if not all(type(size) is int and size >= 0 for size in shape) or dtype.itemsize == 0:
            raise InputFault(f"{self.where} says that it is {dtype} {list(shape)}. Save it again.")
        if dtype.hasobject:
            raise InputFault(
                f"{self.where} holds Python objects, which would have to be unpickled. Save it as "
                "numbers (ids: as text, `np.array(ids, dtype=str)`)."
            )

    def __len__(self) -> int:
        """How many rows."""
        return self.shape[0] if self.shape else 0

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], tuple[int, ...], bool, Any]]:
        try:
            with zipfile.ZipFile(self._file) as archive, archive.open(f"{self._key}.npy") as stream:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0
                if version != (1, 0):
                    read = np.lib.format.read_array_header_2_0
                yield stream, *read(stream)
        except UNREADABLE as error:
            raise InputFault(f"{self.where} cannot be read: {error}. Save it again.") from error

    def whole(self) -> NDArray[Any]:
        """Return all of it."""
        blocks = list(self.blocks())
        return np.concatenate(blocks) if blocks else np.zeros(self.shape, self.dtype)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield its rows, some at a time."""
        with self._opened() as (stream, shape, fortran, dtype):
            size = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
            rows = len(self) if fortran else max(1, BLOCK_BYTES // max(size, 1))
            for start in range(0, len(self), max(rows, 1)):
                count = min(rows, len(self) - start)
                numbers = stream.read(count * size)
                if len(numbers) != count * size:
                    raise InputFault(f"{self.where} ends early. Save it again.")
                flat = np.frombuffer(numbers, dtype)
                block = flat.reshape(shape[::-1]).T if fortran else flat.reshape(count, *shape[1:])
                yield block


def take_in(folder: Path, into: Path, where: str) -> RecordedSummary:
    """Write `ids.json` and one `.npy` for each logged array, all in one order of rows.

    Where both files are there, rows that only one of them holds are left out. Memory: a block of
    one array, and the predictions.

    Args:
        folder: what the case names.
        into: a new folder.
        where: the key that names it, for messages: `candidate.recorded`.

    Raises:
        InputFault: what cannot be used; names the file, the key and the row.
    """
    into.mkdir(parents=True)
    tensors = _tensors(folder / TENSORS, where) if (folder / TENSORS).exists() else {}
    predictions = _predictions(folder, where)
    if not tensors and not predictions:
        names = ", ".join((TENSORS, *PREDICTIONS))
        raise InputFault(f"{where}: {folder.name} holds none of {names}. Log at least one.")
    lists = [ids for ids in (_ids_of(tensors), predictions.get("ids")) if ids is not None]
    ids = _shared(lists, where)
    shared = set(ids)
    (into / "ids.json").write_text(json.dumps(ids) + "\n", encoding="utf-8")
    nonfinite = {}
    for name, member in tensors.items():
        if name != "ids":
            keep = np.array([one in shared for one in lists[0]])
            nonfinite[name] = _copy(member, keep, into / f"{name}.npy")
    for name, values in predictions.items():
        if name != "ids":
            at = {one: row for row, one in enumerate(predictions["ids"])}
            rows = np.asarray(values)[[at[one] for one in ids]]
            np.save(into / f"{name}.npy", rows)
            nonfinite[name] = _num_nonfinite(rows)
    return RecordedSummary(
        rows=len(ids),
        arrays=sorted(nonfinite),
        num_left_out=len(set().union(*lists)) - len(ids),
        num_nonfinite_rows={name: count for name, count in sorted(nonfinite.items()) if count},
    )


def logged_ids(folder: Path, where: str) -> list[str]:
    """Return the ids that a recording holds, without its tensors' numbers.

    Raises:
        InputFault: as `take_in`, as far as it shows without those.
    """
    tensors = _tensors(folder / TENSORS, where) if (folder / TENSORS).exists() else {}
    lists = [_ids_of(tensors), _predictions(folder, where).get("ids")]
    return _shared([ids for ids in lists if ids is not None], where)


def _shared(lists: Sequence[list[str]], where: str) -> list[str]:
    shared = set.intersection(*(set(ids) for ids in lists))
    ids = [name for name in lists[0] if name in shared]
    if not ids:
        raise InputFault(_apart(where, "its tensors", lists[0], "its predictions", lists[-1]))
    return ids


def _apart(where: str, left: str, ids: Sequence[str], right: str, others: Sequence[str]) -> str:
    text = f"{where}: {left} and {right} have no id in common."
    if privacy.is_private():
        return f"{text} Log both with the ids of the real manifest."
    shown = " and ".join(
        f"{what} {', '.join(map(str, some[:3]))}" for what, some in ((left, ids), (right, others))
    )
    return f"{text} For example {shown}."


def _ids_of(tensors: dict[str, Member]) -> list[str] | None:
    return _texts(tensors["ids"].whole(), tensors["ids"].where) if tensors else None


def _tensors(file: Path, where: str) -> dict[str, Member]:
    """Open tensors.npz: `ids`, `input` and `step_<name>`, all of one length."""
    place = f"{where}: {file.name}"
    keys = _keys(file, place)
    odd = [key for key in keys if not re.fullmatch(r"ids|input|step_[\w-]+", key)]
    if odd:
        raise InputFault(f"{place}: {odd[0]}: expected ids, input and step_<name>.")
    missing = [key for key in ("ids", "input") if key not in keys]
    if missing:
        raise InputFault(f"{place} has no {missing[0]}; it has: {', '.join(keys) or 'nothing'}.")
    members = {key: Member(file, key, place) for key in keys}
    rows = len(members["ids"])
    for key, member in members.items():
        if len(member) != rows:
            raise InputFault(f"{place}: {key} has {len(member)} rows, ids has {rows}.")
        if key != "ids":
            _refuse_odd(member.dtype, f"{place}: {key}")
    return members


def _refuse_odd(dtype: Any, where: str) -> None:
    if dtype.kind not in NUMERIC:
        raise InputFault(f"{where} is {dtype}; expected numbers.")


def _keys(file: Path, place: str) -> list[str]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except UNREADABLE as error:
        raise InputFault(f"{place} is no .npz: {error}. Save it with `np.savez`.") from error
    return [name.removesuffix(".npy") for name in names]


def _predictions(folder: Path, where: str) -> dict[str, Any]:
    """Read the one predictions file: ids, labels (rows,), outputs (rows, k)."""
    found = [name for name in PREDICTIONS if (folder / name).exists()]
    if len(found) > 1:
        raise InputFault(f"{where}: {' and '.join(found)}: keep one of them.")
    if not found:
        return {}
    file, place = folder / found[0], f"{where}: {found[0]}"
    made = _from_npz(file, place) if file.suffix == ".npz" else _from_table(file, place)
    if "labels" not in made and "outputs" not in made:
        raise InputFault(f"{place} has neither labels nor outputs.")
    for name, values in made.items():
        if len(values) != len(made["ids"]):
            text = f"{place}: {name} has {len(values)} rows, ids has {len(made['ids'])}."
            raise InputFault(text)
        if name != "ids":
            _refuse_odd(values.dtype, f"{place}: {name}")
    return made


def _from_npz(file: Path, place: str) -> dict[str, Any]:
    keys = _keys(file, place)
    odd = [key for key in keys if key not in ("ids", "labels", "outputs")]
    if odd or "ids" not in keys:
        raise InputFault(f"{place}: {(odd or ['ids'])[0]}: expected ids, and labels or outputs.")
    made: dict[str, Any] = {key: Member(file, key, place).whole() for key in keys}
    made["ids"] = _texts(made["ids"], f"{place}: ids")
    for key, rank in (("labels", 1), ("outputs", 2)):
        if key in made and made[key].ndim != rank:
            shape = list(made[key].shape)
            raise InputFault(f"{place}: {key} has shape {shape}; expected {rank} axes.")
    return made


def _from_table(file: Path, place: str) -> dict[str, Any]:
    import pandas as pd

    try:
        if file.suffix == ".parquet":
            table = pd.read_parquet(file)
        else:
            # An id is what stands there, also `NA` or `007`, and never the table's index.
            text = io.BytesIO(file.read_bytes())
            table = pd.read_csv(text, converters={"id": str}, index_col=False)
    except Exception as error:
        raise InputFault(f"{place} cannot be read: {privacy.message(error)}.") from error
    if "id" not in table:
        raise InputFault(f"{place} has no column id; it has: {', '.join(map(str, table.columns))}.")
    made: dict[str, Any] = {"ids": _texts(_filled(table["id"]), f"{place}: id")}
    names = [f"output_{i}" for i in range(len(table.columns)) if f"output_{i}" in table]
    if names and names != [f"output_{i}" for i in range(len(names))]:
        raise InputFault(f"{place}: {names[-1]}: outputs are numbered from output_0 without a gap.")
    if "label" in table:
        made["labels"] = _numbers(table["label"], f"{place}: label")
    if names:
        made["outputs"] = np.stack([_numbers(table[n], f"{place}: {n}") for n in names], axis=1)
    return made


def _filled(ids: Any) -> NDArray[Any]:
    """Return ids with an empty text where there is none."""
    column: NDArray[Any] = (ids.astype(object).fillna("") if ids.hasnans else ids).to_numpy()
    return column


def _numbers(column: Any, where: str) -> NDArray[Any]:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    odd = np.flatnonzero((numbers.isna() & column.notna()).to_numpy())
    if len(odd):
        shown = "" if privacy.is_private() else f": {column.iloc[odd[0]]!r}"
        raise InputFault(f"{where}, row {odd[0] + 1}{shown}: expected a number.")
    made: NDArray[Any] = numbers.to_numpy()
    return made


def _texts(ids: NDArray[Any], where: str) -> list[str]:
    """Return ids as text, each once."""
    if ids.shape == (0,):
        raise InputFault(f"{where} is empty. Log at least one row.")
    if ids.ndim != 1 or ids.dtype.kind not in "UOSiu":
        raise InputFault(f"{where} is {ids.dtype} {list(ids.shape)}; expected (rows,) of text.")
    named = (one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in ids)
    texts = [str(one) for one in named]
    seen: set[str] = set()
    for row, one in enumerate(texts):
        if not one or one in seen:
            what = "is empty" if not one else "stands twice"
            shown = "" if privacy.is_private() else f" {one!r}"
            raise InputFault(f"{where}, row {row + 1}: the id{shown} {what}. Ids are unique.")
        seen.add(one)
    return texts


def _copy(member: Member, keep: NDArray[np.bool_], path: Path) -> int:
    """Write the kept rows of one array; return how many are not finite."""
    from sides.tensors import RowWriter

    at = count = 0
    dtype = member.dtype.newbyteorder("<").str
    with RowWriter(path, int(keep.sum()), dtype) as writer:
        for block in member.blocks():
            rows = block[keep[at : at + len(block)]]
            at += len(block)
            count += _num_nonfinite(rows)
            writer.write(rows)
    return count


def _num_nonfinite(rows: NDArray[Any]) -> int:
    if rows.dtype.kind != "f":
        return 0
    return int((~np.isfinite(rows).reshape(len(rows), -1).all(axis=1)).sum())
