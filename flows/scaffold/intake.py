"""Takes the user's sets in: each becomes a dataset folder, with one label mapping for all."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flows.faults import Faults
from flows.scaffold.class_names import Classes, regression_label, settle
from flows.scaffold.samples import Columns, Rows, write_samples
from flows.scaffold.sources import is_dataset, open_source
from stages.dataset import MANIFEST, read_manifest
from stages.dataset_folder import COLUMNS, take_in
from stages.stage import InputFault

ORDER = ("sim", "real", "train")
"""sim first: the features of a table are those of the set that the model was validated on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where one set comes from."""

    path: Path
    part: str = ""
    told: str  # as the user wrote it, for people


@dataclass(slots=True, kw_only=True)
class TakenIn:
    """One set as a dataset folder."""

    kind: str
    rows: int
    labelled: int
    groups: int  # 0: no row has one
    features: tuple[str, ...] | None = None  # of a table: the columns that a sample is made of
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Read:
    kind: str
    rows: Rows
    class_names: tuple[str, ...] | None
    features: tuple[str, ...] | None
    notes: list[str]


def take_in_sets(
    sources: Mapping[str, Source],
    target: Path,
    columns: Columns,
    *,
    task: str,
    classes: str | None,
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[dict[str, TakenIn], Classes | None]:
    """Convert every set into `target/SET`.

    Args:
        sources: by set: sim, real, train.
        target: the folder that gets one folder a set.
        columns: what the user named.
        task: classification or regression.
        classes: as `settle` takes it.
        say: hears what is under way.

    Returns:
        What was taken in, and the classes; None for a regression.

    Raises:
        Faults: a set cannot be read or used; names file and row.
    """
    read: dict[str, _Read] = {}
    for name in [name for name in ORDER if name in sources]:
        say(f"reading {name}: {sources[name].told}")
        features = read["sim"].features if "sim" in read else None
        read[name] = _read(sources[name], target / name, columns, f"--{name}", features)
    settled = _classes(read, classes) if task == "classification" else None
    taken = {}
    for name, one in read.items():
        _label(one, settled, f"--{name}")
        _write_manifest(target / name, one.rows)
        taken[name] = _checked(one, target / name, name)
    return taken, settled


def _read(
    source: Source, target: Path, columns: Columns, where: str, features: tuple[str, ...] | None
) -> _Read:
    if not source.path.exists():
        raise Faults(f"{where}: there is no {source.path}.")
    if source.path.is_dir() and is_dataset(source.path):
        try:
            take_in(source.path, target, where, str(source.path))
        except InputFault as fault:
            raise Faults(*str(fault).splitlines()) from None
        rows: Rows = read_manifest(target).to_dict("records")  # type: ignore[assignment]
        return _Read("a dataset folder", rows, None, None, [])
    reading = open_source(source.path, source.part, columns, where, features)
    rows = write_samples(reading, target, where)
    return _Read(reading.kind, rows, reading.class_names, reading.features, reading.notes)


def _classes(read: Mapping[str, _Read], stated: str | None) -> Classes:
    labels = {name: [row["label"] for row in one.rows] for name, one in read.items()}
    declared = {name: one.class_names for name, one in read.items() if one.class_names}
    return settle(labels, stated, declared)


def _label(one: _Read, classes: Classes | None, where: str) -> None:
    """Write each row's label as its number; its name stands beside it."""
    for row in one.rows:
        try:
            number = classes.number(row["label"]) if classes else regression_label(row["label"])
        except Faults as fault:
            raise Faults(f"{where}: {row['id']}: {fault}") from None
        if classes and classes.renamed and (row["label"] or "label_name" not in row):
            row["label_name"] = classes.names[int(number)] if number else ""
        row["label"] = number


def _write_manifest(folder: Path, rows: Rows) -> None:
    free = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    with (folder / MANIFEST).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [*COLUMNS, *free], restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def _checked(one: _Read, folder: Path, name: str) -> TakenIn:
    try:
        summary = take_in(folder, folder, f"--{name}", name)
    except InputFault as fault:
        raise Faults(*str(fault).splitlines()) from None
    groups = len({row["group"] for row in one.rows if row["group"]})
    notes = list(one.notes)
    if not groups:
        notes.append(
            "no groups: rows count one by one, and intervals are too narrow where several rows "
            "come of one session or device; name it with --group-column"
        )
    if not summary.labelled:
        notes.append("no labels: what broke can be found, what it costs cannot")
    return TakenIn(
        kind=one.kind,
        rows=summary.rows,
        labelled=summary.labelled,
        groups=groups,
        features=one.features,
        notes=notes,
    )
