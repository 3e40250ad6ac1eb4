"""What a source is: found out from what lies there, never from a flag."""

from pathlib import Path

from flows.faults import Faults
from flows.scaffold import read_arrays, read_arrow, read_folders, read_tables, read_tars
from flows.scaffold.samples import Columns, Reading
from stages.dataset import MANIFEST
from stages.sample_table import PICTURES

KNOWN = (
    "a dataset folder (manifest.csv), a folder of pictures (one folder a class, or with a CSV of "
    "labels), a CSV or Parquet table, .npz or .npy, WebDataset tars, or a folder of Hugging Face "
    "`datasets`"
)
TABLES = (".csv", ".tsv")


def is_dataset(path: Path) -> bool:
    """Tell whether a folder is a dataset folder already."""
    return any((path / name).is_file() for name in (MANIFEST, "manifest.parquet"))


def open_source(
    path: Path, part: str, columns: Columns, where: str, features: tuple[str, ...] | None
) -> Reading:
    """Find out what a source is and begin to read it; it is no dataset folder yet.

    Args:
        path: a file or a folder.
        part: the part that is meant, where one source holds several: `test`.
        columns: the columns that a person named.
        where: what the messages call it: --sim.
        features: of a table that was read before this one.

    Raises:
        Faults: it is not there, of no known kind, or cannot be read.
    """
    if part and (path / part).is_dir():
        path, part = path / part, ""
    if part and not _has_parts(path):
        raise Faults(f"{where}: {path} has no part {part}.")
    look = _folder if path.is_dir() else _file
    reading = look(path, part, columns, where, features)
    if reading is None:
        raise Faults(f"{where}: {path} holds nothing that is known. Known: {KNOWN}.")
    return reading


def _has_parts(path: Path) -> bool:
    """Tell whether a source may hold several sets: arrays by their names, Parquet by its files'."""
    files = [path] if path.is_file() else [*path.iterdir(), *path.glob("data/*.parquet")]
    suffixes = {".npz", ".npy"} if path.is_file() else {".npz", ".npy", ".parquet"}
    return any(file.suffix.lower() in suffixes or file.name == read_arrow.DICT for file in files)


def _file(
    path: Path, part: str, columns: Columns, where: str, features: tuple[str, ...] | None
) -> Reading | None:
    suffix = path.suffix.lower()
    if suffix in TABLES:
        listed = read_folders.holds_paths(read_tables.open_table(path)) is not None
        if listed:
            return read_folders.read_listed_files(path, columns, where)
        return read_tables.read_table(path, columns, where, features)
    if suffix in (".parquet", ".arrow"):
        stored = read_arrow.open_stored([path], None, where)
        return read_arrow.read_stored(stored, columns, where, features, suffix[1:])
    if suffix in (".npz", ".npy"):
        read = read_arrays.read_npz if suffix == ".npz" else read_arrays.read_npy
        return read(path, part, where)
    return read_tars.read_tars([path], columns, where) if read_tars.is_tar(path) else None


def _folder(
    path: Path, part: str, columns: Columns, where: str, features: tuple[str, ...] | None
) -> Reading | None:
    stored = _stored(path, part, where)
    if stored is not None:
        return read_arrow.read_stored(stored[0], columns, where, features, stored[1])
    shards = sorted(file for file in path.iterdir() if read_tars.is_tar(file))
    if shards:
        return read_tars.read_tars(shards, columns, where)
    tables = sorted(file for file in path.iterdir() if file.suffix.lower() in TABLES)
    if len(tables) > 1:
        names = ", ".join(file.name for file in tables)
        raise Faults(f"{where}: {path} holds several tables: {names}. Name the one that is meant.")
    arrays = sorted(file for file in path.iterdir() if file.suffix.lower() in (".npz", ".npy"))
    if tables or [file.suffix for file in arrays] == [".npz"]:
        return _file([*tables, *arrays][0], part, columns, where, features)
    if arrays:
        return read_arrays.read_npy(path, part, where)
    return _files(path, where)


def _stored(path: Path, part: str, where: str) -> tuple[read_arrow.Stored, str] | None:
    if any((path / name).is_file() for name in (read_arrow.STATE, read_arrow.DICT)):
        return read_arrow.open_saved(path, part, where), "Hugging Face, saved to disk"
    if any(path.glob("*.parquet")) or any(path.glob("data/*.parquet")):
        return read_arrow.open_parquet_folder(path, part, where), "Parquet files"
    return None


def _files(path: Path, where: str) -> Reading | None:
    files = read_folders.files_of(path)
    inside = any(file.parent != path for file in files)
    bare = [file for file in files if file.parent == path and file.suffix.lower() in PICTURES]
    if bare and inside:
        told = f"pictures both beside and in its folders: {bare[0].name}"
        raise Faults(f"{where}: {path} holds {told}. Is a folder a class, or are there no labels?")
    if bare:
        return read_folders.read_bare_files(path)
    return read_folders.read_class_folders(path, where) if inside else None
