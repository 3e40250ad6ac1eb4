"""Takes one dataset folder in: its structure is checked, its manifest becomes the canonical CSV."""

import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from sides import privacy
from stages.dataset import MANIFEST, SAMPLES, UNREADABLE, open_foreign, own_group, read_table
from stages.reports.data import DatasetSummary
from stages.stage import InputFault

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("id", "row", "path", "label", "group")
MISSING = {"", "nan", "none", "null", "na", "n/a", "<na>"}
NUM_SHOWN = 5
MOST_DIGITS = 18  # of the number of a row
MIN_RANK = 2  # rows, and at least one value in each


def take_in(source: Path, target: Path, where: str, origin: str) -> DatasetSummary:
    """Check a folder, copy what its manifest names to `target` and write the canonical manifest.

    Args:
        source: the folder; `manifest.csv` or `manifest.parquet`, samples.npy or files.
        target: may be the same folder.
        where: what the messages call it: data.sim.
        origin: where it came from, for the report.

    Raises:
        InputFault: all faults of its structure, each with file and row.
    """
    manifest, file = _read(source, where)
    faults = _column_faults(manifest) or _row_faults(manifest, source, file)
    if faults:
        raise InputFault("\n".join(f"{where}, {_on_a_line(fault)}" for fault in faults))
    if source != target:
        _copy(manifest, source, target)
    (target / "manifest.parquet").unlink(missing_ok=True)
    manifest.to_csv(target / MANIFEST, index=False, lineterminator="\n")
    return DatasetSummary(
        rows=len(manifest),
        labelled=int((manifest["label"] != "").sum()),
        groups=int(own_group(manifest).nunique()),
        source=origin,
    )


def _read(source: Path, where: str) -> tuple["pd.DataFrame", str]:
    import pandas as pd

    names = (MANIFEST, "manifest.parquet", SAMPLES)
    linked = [name for name in names if is_file(source / name) and not stays_inside(source, name)]
    if linked:
        raise InputFault(
            f"{where}: {linked[0]} is a link out of {source.name}. Put the file itself there."
        )
    if not source.is_dir():
        raise InputFault(
            f"{where}: {source.name} is no folder; a dataset is a folder with a {MANIFEST}."
        )
    try:
        if (source / MANIFEST).is_file():
            return _canonical(read_table(source / MANIFEST)), MANIFEST
        if (source / "manifest.parquet").is_file():
            table = pd.read_parquet(source / "manifest.parquet")
            return _canonical(table.map(_text)), "manifest.parquet"
    except UNREADABLE as error:  # pandas' and Arrow's parser errors are ValueErrors
        told = _on_a_line(_said(error))
        raise InputFault(f"{where}: its manifest cannot be read: {told}") from None
    raise InputFault(f"{where}: no {MANIFEST} and no manifest.parquet in it.")


def _on_a_line(text: str) -> str:
    """Keep what stands in a cell from looking like a fault of its own."""
    return " ".join(text.split())


def _said(error: Exception) -> str:
    return type(error).__name__ if privacy.is_private() else str(error)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or value != value else str(value)  # noqa: PLR0124  NaN


def _canonical(table: "pd.DataFrame") -> "pd.DataFrame":
    for column in ("row", "path"):
        if column not in table and {"row", "path"} & set(table.columns):
            table[column] = ""
    if "label" in table:
        table["label"] = table["label"].map(_label)
    first = [column for column in COLUMNS if column in table]
    return table[first + [column for column in table.columns if column not in COLUMNS]]


def _label(text: str) -> str:
    """Return a label's text: '' for none, '3' for 3.0. What is allowed the contract says."""
    text = text.strip()
    if text.lower() in MISSING:
        return ""
    whole, _, fraction = text.partition(".")
    return whole if whole.lstrip("-").isdigit() and not fraction.strip("0") else text


def _column_faults(manifest: "pd.DataFrame") -> list[str]:
    missing = [column for column in ("id", "label", "group") if column not in manifest]
    if "row" not in manifest:
        missing.append("row (or path)")
    faults = []
    if missing:
        # Without a header the names of the columns are the first row's values.
        found = "" if privacy.is_private() else f" It has: {', '.join(manifest.columns)}."
        faults.append(f"manifest: missing columns: {', '.join(missing)}.{found}")
    elif manifest.empty:
        faults.append("manifest: 0 rows; there is nothing to examine.")
    return faults


def _row_faults(manifest: "pd.DataFrame", source: Path, file: str) -> list[str]:
    first = 2 if file == MANIFEST else 0  # a CSV's lines are counted from its header, line 1
    named = "line" if file == MANIFEST else "row"
    faults: dict[str, list[str]] = {}
    ids: dict[str, int] = {}
    num_samples, array_fault = _num_samples(source) if (manifest["row"] != "").any() else (0, None)
    columns = (manifest["id"], manifest["row"], manifest["path"])
    for line, (name, row, path) in enumerate(zip(*columns, strict=True), first):
        kind = _duplicate(name, line, ids) or _address(row, path, num_samples, source)
        if kind:
            faults.setdefault(kind[0], []).append(f"{named} {line}{privacy.named(name)}{kind[1]}")
    lines = [array_fault] if array_fault else []
    for text, rows in faults.items():
        if array_fault and text == "the row is not in samples.npy":
            continue
        more = f" and {len(rows) - NUM_SHOWN} more" if len(rows) > NUM_SHOWN else ""
        lines.append(f"{file}: {text}: {', '.join(rows[:NUM_SHOWN])}{more}.")
    return lines


def _duplicate(name: str, line: int, ids: dict[str, int]) -> tuple[str, str] | None:
    if not name:
        return "no id", ""
    if name in ids:
        return "the id stands twice", f" as in {ids[name]}"
    ids[name] = line
    return None


def _address(row: str, path: str, num_samples: int, source: Path) -> tuple[str, str] | None:
    if bool(row) == bool(path):
        return "state either row or path", ""
    if row:
        if not row.isdecimal():
            return "the row is no whole number", _shown(row)
        inside = len(row) <= MOST_DIGITS and int(row) < num_samples
        return None if inside else ("the row is not in samples.npy", f" {row} of {num_samples}")
    fault = _path_fault(source, path)
    return (fault, _shown(path)) if fault else None


def _path_fault(source: Path, path: str) -> str | None:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return "the path leads out of the folder"
    if not path.isprintable() or not is_file(source / path):
        return "no such file"
    inside = stays_inside(source, path)
    return None if inside else "the file is a link out of the folder; put the file itself there"


def is_file(path: Path) -> bool:
    """Tell whether a file is there; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def stays_inside(folder: Path, path: str) -> bool:
    """Tell whether a file's links, and those of the folders on the way, end in its own folder."""
    return (folder / path).resolve().is_relative_to(folder.resolve())


def _shown(value: str) -> str:
    return "" if privacy.is_private() else f" {value}"


def _num_samples(source: Path) -> tuple[int, str | None]:
    if not (source / SAMPLES).is_file():
        return 0, f"{SAMPLES}: not there, but the manifest gives rows of it."
    try:
        array = open_foreign(source / SAMPLES)
    except UNREADABLE as error:
        return 0, f"{SAMPLES}: cannot be read: {error}."
    if array.dtype.kind not in "biuf":
        return 0, f"{SAMPLES}: expected numbers, got {array.dtype}."
    if array.ndim < MIN_RANK:
        return (
            0,
            f"{SAMPLES}: expected (rows, ...) with at least {MIN_RANK} axes, got {array.shape}.",
        )
    return len(array), None


def _copy(manifest: "pd.DataFrame", source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    if (manifest["row"] != "").any():
        shutil.copyfile(source / SAMPLES, target / SAMPLES)
    for path in manifest.loc[manifest["path"] != "", "path"].unique():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target / path)
