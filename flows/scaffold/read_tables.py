"""CSV tables: columns of numbers become the samples, all others free metadata."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flows.faults import Faults
from flows.scaffold.class_names import shown
from flows.scaffold.samples import (
    GROUP_NAMES,
    ID_NAMES,
    LABEL_NAMES,
    Columns,
    Item,
    Reading,
    free_columns,
    is_number,
    pick,
    text_of,
)

DELIMITERS = {".csv": ",;\t", ".tsv": "\t"}


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV that is read anew, line by line, as often as it is asked for."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield each row with its line, counted from the header, which is line 1.

        Raises:
            Faults: a line has another number of cells than the header.
        """
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=self.delimiter)
            try:
                next(lines)
                for cells in lines:
                    if len(cells) not in (0, len(self.columns)):
                        told = f"{len(cells)} cells, the header {len(self.columns)}"
                        raise Faults(f"{self.path}, line {lines.line_num}: it has {told}.")
                    if cells:
                        yield lines.line_num, dict(zip(self.columns, cells, strict=True))
            except (UnicodeDecodeError, csv.Error) as error:
                place = f"{self.path}, after line {lines.line_num}"
                raise Faults(f"{place}: it cannot be read: {error}. Save it as UTF-8.") from None


def open_table(path: Path) -> Table:
    """Read a CSV's header.

    Raises:
        Faults: it is no UTF-8 text, it is empty, or names a column twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            allowed = DELIMITERS.get(path.suffix.lower(), ",;\t")
            delimiter = max(allowed, key=first.count)
            header = next(csv.reader(file, delimiter=delimiter), [])
    except UnicodeDecodeError as error:
        raise Faults(f"{path} is not UTF-8 text: {error}. Save it as UTF-8.") from None
    names = [name.strip() for name in header]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        told = f"the column {twice[0]!r} stands twice" if twice else "it has no header"
        raise Faults(f"{path}, line 1: {told}.")
    return Table(path, tuple(names), delimiter)


def read_table(
    path: Path, columns: Columns, where: str, features: tuple[str, ...] | None
) -> Reading:
    """Read a table of features.

    Args:
        path: the CSV.
        columns: the columns that mean something else.
        where: what the messages call it.
        features: the columns of the set that was read before: the same, in its order.

    Raises:
        Faults: no column holds numbers only, or a feature is missing or holds text.
    """
    table = open_table(path)
    roles = roles_of(list(table.columns), columns)
    used = {name for name in roles.values() if name}
    candidates = [name for name in table.columns if name not in used]
    text = _first_texts(table, candidates)
    chosen = features or tuple(name for name in candidates if name not in text)
    check_features(chosen, candidates, text, f"{where}: {path.name}")
    free = [name for name in candidates if name not in chosen]
    notes = told_of(free, [name for name in free if name not in text])
    notes += told_of_roles(roles, columns, list(table.columns))
    items = _items(table, roles, chosen, free)
    return Reading(kind="a table", items=items, features=chosen, notes=notes)


def roles_of(names: list[str], columns: Columns) -> dict[str, str | None]:
    """Return which columns are label, id and group."""
    return {
        "label": pick(columns.label, LABEL_NAMES, names),
        "id": pick(columns.id, ID_NAMES, names),
        "group": pick(columns.group, GROUP_NAMES, names),
    }


def told_of_roles(roles: dict[str, str | None], columns: Columns, names: list[str]) -> list[str]:
    """Say which column was not found that was named, or that none holds labels."""
    named = {"label": columns.label, "id": columns.id, "group": columns.group}
    notes = [f"there is no column {name}" for key, name in named.items() if name and not roles[key]]
    if not columns.label and not roles["label"]:
        notes.append(f"none of its columns was taken for labels: {shown(names)}")
    return notes


def _first_texts(table: Table, names: list[str]) -> dict[str, str]:
    """Return where each column that is not all numbers holds its first text."""
    found: dict[str, str] = {}
    filled: set[str] = set()
    for line, cells in table.rows():
        for name in names:
            cell = text_of(cells[name])
            if cell and name not in found:
                filled.add(name)
                if not is_number(cell):
                    found[name] = f"line {line}: {cell!r} is no number"
    return {**{name: "it is empty" for name in names if name not in filled}, **found}


def check_features(
    chosen: tuple[str, ...], candidates: list[str], text: dict[str, str], where: str
) -> None:
    """Refuse a table whose features are not those of the set before it.

    Raises:
        Faults: each feature that is missing or holds text, with the first line.
    """
    if not chosen:
        told = shown([f"{name} ({text[name]})" for name in candidates]) or "none but label and id"
        raise Faults(f"{where}: no column holds numbers only. It has: {told}.")
    faults = [
        f"{where}: there is no column {name}, a feature of sim."
        for name in chosen
        if name not in candidates
    ]
    faults += [
        f"{where}: column {name}, {text[name]}; in sim it holds numbers. Mend or empty it."
        for name in chosen
        if name in text
    ]
    if faults:
        raise Faults(*faults)


def told_of(free: list[str], numbers: list[str]) -> list[str]:
    """Say what became of the columns that are no features."""
    notes = []
    words = [name for name in free if name not in numbers]
    if words:
        notes.append(f"columns with text became free metadata, no features: {', '.join(words)}")
    if numbers:
        notes.append(f"columns that sim has not became free metadata: {', '.join(numbers)}")
    return notes


def _items(
    table: Table, roles: dict[str, str | None], features: tuple[str, ...], free: list[str]
) -> Iterator[Item]:
    import numpy as np

    for at, (_, cells) in enumerate(table.rows()):
        numbers = [float(text_of(cells[name]) or "nan") for name in features]
        meant = {key: text_of(cells[name]) if name else "" for key, name in roles.items()}
        yield Item(
            id=meant["id"] or f"row-{at:06d}",
            sample=np.array(numbers, dtype=np.float64),
            label=meant["label"],
            group=meant["group"],
            free=free_columns({name: cells[name] for name in free}),
        )
