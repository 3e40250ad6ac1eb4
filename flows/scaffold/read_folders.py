"""Folders of files: one folder a class, or a table of labels beside."""

from collections.abc import Iterator
from pathlib import Path

from flows.faults import Faults
from flows.scaffold.read_tables import Table, open_table, roles_of, told_of_roles
from flows.scaffold.samples import (
    Columns,
    Item,
    Reading,
    free_columns,
    pick,
    safe_path,
    text_of,
)
from stages.dataset_folder import is_file, stays_inside
from stages.sample_table import PICTURES

PATH_NAMES = ("path", "file", "filename", "file_name", "image", "image_path")
SPLITS = {"train", "training", "test", "testing", "val", "valid", "validation"}
UNSEEN = {"thumbs.db", "desktop.ini"}
BESIDE = {".md", ".txt", ".csv", ".tsv", ".json", ".yaml", ".yml", ""}  # describes, is no sample
NUM_SHOWN = 5


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder and those below, sorted, without what systems leave behind."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    seen = [p for p in found if not any(q.startswith(".") for q in p.relative_to(folder).parts)]
    return sorted(path for path in seen if path.name.lower() not in UNSEEN)


def read_class_folders(folder: Path, where: str) -> Reading:
    """Read `folder/CLASS/...`; a folder between class and file is the file's group.

    Raises:
        Faults: the folders are the parts of a split, or hold no file.
    """
    classes = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    names = [path.name for path in classes]
    if names and {name.lower() for name in names} <= SPLITS:
        raise Faults(
            f"{where}: {folder} holds the parts {', '.join(names)}, no classes. "
            f"Name one of them: {folder / names[0]}"
        )
    empty = [path.name for path in classes if not files_of(path)]
    notes = [f"no file in the folder {name}" for name in empty]
    return Reading(
        kind="a folder of files, one folder a class", items=_in_classes(folder), notes=notes
    )


def _in_classes(folder: Path) -> Iterator[Item]:
    for path in files_of(folder):
        place = path.relative_to(folder)
        if len(place.parts) > 1:
            yield Item(
                id=place.as_posix(),
                sample=path,
                file=place.as_posix(),
                label=place.parts[0],
                group="/".join(place.parts[1:-1]),
            )


def read_bare_files(folder: Path) -> Reading:
    """Read a folder of files without any labels."""
    samples = (path for path in files_of(folder) if path.suffix.lower() not in BESIDE)
    places = ((path, path.relative_to(folder).as_posix()) for path in samples)
    items = (Item(id=place, sample=path, file=place) for path, place in places)
    return Reading(kind="a folder of files without labels", items=items)


def holds_paths(table: Table) -> str | None:
    """Return the column that names files which stand beside the table, if one does."""
    column = pick(None, PATH_NAMES, list(table.columns))
    if column is None:
        return None
    first = next(iter(table.rows()), None)
    name = text_of(first[1].get(column)) if first else ""
    there = bool(name) and is_file(table.path.parent / name)
    return column if there or Path(name).suffix.lower() in PICTURES else None


def read_listed_files(path: Path, columns: Columns, where: str) -> Reading:
    """Read the files that a table names, with the labels that it gives them.

    Raises:
        Faults: files that it names are not there, or lie outside its folder.
    """
    table = open_table(path)
    column = holds_paths(table)
    if column is None:
        raise Faults(f"{where}: {path.name} names no file beside it in {', '.join(PATH_NAMES)}.")
    missing = [
        f"line {line} ({text_of(cells.get(column)) or 'no file named'})"
        for line, cells in table.rows()
        if not _is_beside(path, text_of(cells.get(column)), f"{where}: {path.name}, line {line}")
    ]
    if missing:
        more = f" and {len(missing) - NUM_SHOWN} more" if len(missing) > NUM_SHOWN else ""
        raise Faults(f"{where}: {path.name}: no such file: {', '.join(missing[:NUM_SHOWN])}{more}.")
    listed = {text_of(cells.get(column)) for _, cells in table.rows()}
    beside = [p for p in files_of(path.parent) if p.suffix.lower() in PICTURES]
    num_left = sum(1 for p in beside if p.relative_to(path.parent).as_posix() not in listed)
    # None is named: the note stands in the README, and names may be those of persons.
    notes = [f"{num_left} pictures are not listed in {path.name}"] if num_left else []
    names = list(table.columns)
    notes += told_of_roles(roles_of(names, columns), columns, names)
    kind = f"files listed in {path.name}"
    return Reading(kind=kind, items=_listed(table, column, columns), notes=notes)


def _is_beside(table: Path, name: str, where: str) -> bool:
    there = bool(name) and is_file(table.parent / safe_path(name, where))
    return there and stays_inside(table.parent, name)


def _listed(table: Table, column: str, columns: Columns) -> Iterator[Item]:
    names = list(table.columns)
    roles = roles_of(names, columns)
    label, id_, group = roles["label"], roles["id"], roles["group"]
    used = {column, label, id_, group}
    for _, cells in table.rows():
        name = text_of(cells[column])
        yield Item(
            id=text_of(cells[id_]) if id_ else name,
            sample=table.path.parent / name,
            file=name,
            label=text_of(cells[label]) if label else "",
            group=text_of(cells[group]) if group else "",
            free=free_columns({key: cell for key, cell in cells.items() if key not in used}),
        )
