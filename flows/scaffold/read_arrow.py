"""Arrow and Parquet, batch by batch; what Hugging Face `datasets` leaves on a disk among it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.faults import Faults
from flows.scaffold.read_tables import check_features, roles_of, told_of, told_of_roles
from flows.scaffold.samples import Columns, Item, Reading, free_columns, text_of

BATCH_BYTES = 8 << 20  # that become Python objects at a time
MAX_BATCH = 1024
SPLIT = re.compile(r"(?P<split>[A-Za-z_]\w*)-\d{5}-of-\d{5}")
STATE, INFO, DICT = "state.json", "dataset_info.json", "dataset_dict.json"
SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"BM": ".bmp"}


@dataclass(frozen=True, slots=True)
class Stored:
    """Files of one table: their schema, and what `datasets` says of its columns."""

    files: list[Path]
    schema: Any
    features: dict[str, Any]  # column -> {"_type": "ClassLabel", "names": [...]}

    def batches(self, where: str) -> Iterator[Any]:
        """Yield record batches.

        Raises:
            Faults: a file is cut off or corrupt.
        """
        import pyarrow as pa

        for path in self.files:
            num_rows = 0
            try:
                for batch in _batches(path):
                    yield batch
                    num_rows += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                told = " ".join(str(error).split())
                raise Faults(
                    f"{where}: {path.name}: unreadable after row {num_rows}: {told}."
                ) from None


def _batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    if path.suffix == ".parquet":
        # pre_buffer would hold a whole row group; a page, which may be as large, always is.
        with parquet.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
            groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
            size_bytes = sum(group.total_byte_size for group in groups)
            yield from file.iter_batches(_rows_at_once(size_bytes, file.metadata.num_rows))
        return
    with pa.memory_map(str(path)) as file:
        try:
            stream = pa.ipc.open_stream(file)
        except pa.ArrowInvalid:  # the file format: older, or written by another program
            opened = pa.ipc.open_file(file)
            yield from (opened.get_batch(i) for i in range(opened.num_record_batches))
            return
        yield from stream


def _rows_at_once(size_bytes: int, num_rows: int) -> int:
    return min(MAX_BATCH, max(1, BATCH_BYTES * num_rows // max(1, size_bytes)))


def open_stored(files: list[Path], info: Path | None, where: str) -> Stored:
    """Read the schema of the first file and the features of dataset_info.json or of its metadata.

    Raises:
        Faults: neither can be read.
    """
    import pyarrow as pa

    try:
        schema = _schema(files[0])
    except (pa.ArrowException, OSError) as error:
        raise Faults(f"{where}: {files[0].name} cannot be read: {error}.") from None
    told = (schema.metadata or {}).get(b"huggingface")
    features = _told(told, f"{where}: {files[0].name}") if told else {}
    if info is not None and info.is_file():
        features = _json(info, where).get("features") or features
    return Stored(files, schema, features or {})


def _schema(path: Path) -> Any:
    from pyarrow import parquet

    if path.suffix == ".parquet":
        return parquet.read_schema(path)
    return next(iter(_batches(path))).schema


def _json(path: Path, where: str) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Faults(f"{where}: {path.name} is no JSON: {error}.") from None
    return said if isinstance(said, dict) else {}


def _told(text: bytes, where: str) -> Any:
    """Return the features that the schema's metadata tell; none where they are told otherwise."""
    try:
        return json.loads(text)["info"]["features"]
    except (KeyError, TypeError):
        return {}
    except (ValueError, RecursionError) as error:
        raise Faults(f"{where}: its metadata `huggingface` is no JSON: {error}.") from None


def open_saved(folder: Path, part: str, where: str) -> Stored:
    """Open what `save_to_disk` wrote: a Dataset, or one part of a DatasetDict.

    Raises:
        Faults: it has several parts and none is named, or its rows are chosen by an index.
    """
    if (folder / DICT).is_file():
        parts = _json(folder / DICT, where).get("splits", [])
        part = part or (parts[0] if len(parts) == 1 else "")
        if part not in parts:
            told = ", ".join(parts) or "(none)"
            one = next(iter(parts), "PART")
            raise Faults(f"{where}: it has the parts {told}. Name one: PATH#{one}")
        folder = folder / part
    state = _json(folder / STATE, where)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        told = "its rows are chosen by an index. Save it anew after `flatten_indices()`"
        raise Faults(f"{where}: {told}.")
    names = [str(file["filename"]) for file in state.get("_data_files", [])]
    missing = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    if missing or not names:
        raise Faults(f"{where}: {STATE} names {', '.join(missing) or 'no file'}, not there.")
    return open_stored([folder / name for name in names], folder / INFO, where)


def open_parquet_folder(folder: Path, part: str, where: str) -> Stored:
    """Open a folder of Parquet files, named by part as `train-00000-of-00001.parquet`.

    Raises:
        Faults: they belong to several parts and none is named.
    """
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    parts: dict[str, list[Path]] = {}
    for file in files:
        found = SPLIT.fullmatch(file.stem)
        parts.setdefault(found["split"] if found else "", []).append(file)
    part = part or (next(iter(parts)) if len(parts) == 1 else "")
    if part not in parts or (not part and len(parts) > 1):
        names = ", ".join(name or "(no part)" for name in parts)
        raise Faults(f"{where}: its files are of the parts {names}. Name one: PATH#{max(parts)}")
    return open_stored(parts[part], folder / INFO, where)


def read_stored(
    stored: Stored, columns: Columns, where: str, features: tuple[str, ...] | None, kind: str
) -> Reading:
    """Read rows whose sample is an embedded file, an array, or all columns of numbers.

    Raises:
        Faults: it is not clear which, or the features are not those of the set before it.
    """
    names = [name for name in stored.schema.names if not name.startswith("__index_level_")]
    roles = roles_of(names, columns)
    rest = [name for name in names if name not in roles.values()]
    sample = _sample_column(stored, rest, columns, where)
    notes = told_of_roles(roles, columns, names)
    classes = _class_names(stored, roles["label"])
    rows = _Rows(stored, roles, sample, classes, where)
    if sample is not None:
        rows.free = [name for name in rest if name != sample]
        return Reading(kind=kind, items=rows.items(), class_names=classes, notes=notes)
    text = {
        name: f"is {stored.schema.field(name).type}"
        for name in rest
        if not _is_numeric(stored.schema.field(name).type)
    }
    rows.features = features or tuple(name for name in rest if name not in text)
    check_features(rows.features, rest, text, where)
    rows.free = [name for name in rest if name not in rows.features]
    notes += told_of(rows.free, [name for name in rows.free if name not in text])
    return Reading(
        kind=f"{kind}, a table",
        items=rows.items(),
        class_names=classes,
        features=rows.features,
        notes=notes,
    )


def _class_names(stored: Stored, label: str | None) -> tuple[str, ...] | None:
    feature = stored.features.get(label or "")
    names = feature.get("names") if isinstance(feature, dict) else None
    return tuple(map(str, names)) if names else None


def _sample_column(stored: Stored, names: list[str], columns: Columns, where: str) -> str | None:
    if columns.sample is not None:
        if columns.sample not in names:
            raise Faults(f"{where}: no column {columns.sample}. It has: {', '.join(names)}.")
        return columns.sample
    for fits, word in ((_is_file, "files"), (_is_array, "arrays")):
        found = [name for name in names if fits(stored.schema.field(name).type)]
        if len(found) > 1:
            told = f"several columns of {word}: {', '.join(found)}"
            raise Faults(f"{where}: {told}. Choose one: --sample-column {found[0]}")
        if found:
            return found[0]
    return None


def _is_file(kind: Any) -> bool:
    from pyarrow import types

    inner = {field.name for field in kind} if types.is_struct(kind) else set()
    return types.is_binary(kind) or types.is_large_binary(kind) or inner == {"bytes", "path"}


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _leaf(kind: Any) -> Any:
    from pyarrow import types

    while True:
        if hasattr(kind, "storage_type"):
            kind = kind.storage_type
        elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            kind = kind.value_type
        else:
            return kind


def _is_array(kind: Any) -> bool:
    return not _is_numeric(kind) and _is_numeric(_leaf(kind))


class _Rows:
    """The rows of a stored table as samples."""

    def __init__(
        self,
        stored: Stored,
        roles: dict[str, str | None],
        sample: str | None,
        classes: tuple[str, ...] | None,
        where: str,
    ) -> None:
        self._stored = stored
        self._roles = roles
        self._sample = sample
        self._classes = classes
        self._where = where
        self.features: tuple[str, ...] = ()
        self.free: list[str] = []

    def items(self) -> Iterator[Item]:
        at = 0
        for batch in self._stored.batches(self._where):
            step = _rows_at_once(batch.nbytes, batch.num_rows)
            for start in range(0, batch.num_rows, step):
                for cells in batch.slice(start, step).to_pylist():
                    yield self._item(at, cells)
                    at += 1

    def _item(self, at: int, cells: dict[str, Any]) -> Item:
        said = {key: text_of(cells[name]) if name else "" for key, name in self._roles.items()}
        name = said["id"] or f"row-{at:06d}"
        sample, file, free = self._content(at, cells, name)
        return Item(
            id=name,
            sample=sample,
            file=file,
            label=self._label(said["label"], name),
            group=said["group"],
            free=free | free_columns({key: cells[key] for key in self.free}),
        )

    def _label(self, text: str, name: str) -> str:
        if self._classes is None or not text or text == "-1":
            return "" if self._classes else text
        if not text.isdecimal() or int(text) >= len(self._classes):
            told = f"the label {text}, and {len(self._classes)} classes have names"
            raise Faults(f"{self._where}: {name} has {told}.")
        return self._classes[int(text)]

    def _content(
        self, at: int, cells: dict[str, Any], name: str
    ) -> tuple[Any, str, dict[str, str]]:
        import numpy as np

        if self._sample is None:
            numbers = [cells[key] for key in self.features]
            filled = [float("nan") if number is None else float(number) for number in numbers]
            return np.array(filled, dtype=np.float64), "", {}
        value = cells[self._sample]
        if value is None:
            raise Faults(f"{self._where}: {name}: {self._sample} is empty in row {at}.")
        kind = self._stored.schema.field(self._sample).type
        if _is_array(kind):
            return self._array(value, _leaf(kind).to_pandas_dtype(), name), "", {}
        held = value if isinstance(value, dict) else {"bytes": value, "path": None}
        if not held.get("bytes"):
            told = f"its file is not in the table, only the path {held.get('path')!r}"
            raise Faults(f"{self._where}: {name}: {told}. Save it with its bytes.")
        path = held.get("path") or ""
        suffix = _suffix(held["bytes"], path)
        free = {"source_file": text_of(Path(path).name)} if path else {}
        return held["bytes"], f"files/{at:07d}{suffix}", free

    def _array(self, value: Any, dtype: Any, name: str) -> Any:
        import numpy as np

        try:
            return np.asarray(value, dtype=dtype)
        except (ValueError, TypeError) as error:
            raise Faults(f"{self._where}: {name}: {self._sample} is no array: {error}.") from None


def _suffix(content: bytes, path: str) -> str:
    for start, suffix in SUFFIXES.items():
        if content.startswith(start):
            return suffix
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return ".webp"
    return Path(path).suffix.lower() or ".bin"
