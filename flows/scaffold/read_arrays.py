"""numpy's own files: samples and labels of one .npz, or .npy files beside each other."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.faults import Faults
from flows.scaffold.samples import Item, Reading, described, free_columns, text_of
from stages.dataset import UNREADABLE, check_header, open_foreign

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLES = ("x", "samples", "images", "data", "inputs", "features")
MEANT = {
    "label": ("y", "labels", "label", "target", "targets"),
    "id": ("ids", "id"),
    "group": ("groups", "group"),
}
Arrays = Mapping[str, "NDArray[Any]"]


def read_npz(path: Path, part: str, where: str) -> Reading:
    """Read one .npz; `part` chooses x_PART and y_PART where it holds several sets.

    Raises:
        Faults: it cannot be read, or its arrays do not say which is which.
    """
    return _reading(_load_npz(path, where), part, f"{where}: {path.name}", "arrays in an .npz")


def read_npy(path: Path, part: str, where: str) -> Reading:
    """Read the .npy files of a folder, or one file and those beside it that give its labels."""
    folder = path if path.is_dir() else path.parent
    chosen = {} if path.is_dir() else {path.stem: path}
    files = {file.stem: file for file in sorted(folder.glob("*.npy"))}
    meant = {n for names in MEANT.values() for n in names}
    beside = {name: file for name, file in files.items() if not chosen or _plain(name, "") in meant}
    arrays = {}
    for name, file in {**beside, **chosen}.items():
        try:
            arrays[name] = open_foreign(file)
        except UNREADABLE as error:
            raise Faults(f"{where}: {file.name} cannot be read: {error}.") from None
    if chosen:
        arrays = {"samples" if name == path.stem else name: a for name, a in arrays.items()}
    return _reading(arrays, part, f"{where}: {path.name}", "arrays in .npy files")


def _load_npz(path: Path, where: str) -> Arrays:
    import numpy as np

    arrays = {}
    name = ""
    try:
        if not zipfile.is_zipfile(path):  # numpy goes by content: it would open an .npy
            raise ValueError("it is no archive of arrays")
        with np.load(path, allow_pickle=False) as archive:
            _refuse_bomb(archive, f"{where}: {path.name}")
            for name in archive.files:
                with archive.zip.open(_member(archive, name)) as stream:
                    check_header(stream)
                arrays[name] = archive[name]
    except UNREADABLE as error:
        told = f"the array {name}" if name else "it"
        raise Faults(f"{where}: {path.name}: {told} cannot be read: {error}.") from None
    return arrays


def _member(archive: Any, name: str) -> str:
    return f"{name}.npy" if f"{name}.npy" in archive.zip.namelist() else name


def _refuse_bomb(archive: Any, where: str) -> None:
    """Refuse what does not fit into memory, going by what the archive says of itself.

    Raises:
        Faults: it does not.
    """
    import psutil

    needed = sum(one.file_size for one in archive.zip.infolist()) if archive.zip else 0
    free: int = psutil.virtual_memory().available
    if needed > free:
        told = f"unpacks to {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB of memory are free"
        raise Faults(f"{where} {told}. Save each array as an .npy file: those are read in parts.")


def _reading(arrays: Arrays, part: str, where: str, kind: str) -> Reading:
    samples = _find(arrays, SAMPLES, part)
    if samples is None:
        told = ", ".join(arrays) or "nothing"
        parts = sorted({key.rpartition("_")[2] for key in arrays if key.lower().startswith("x_")})
        hint = f" Choose a part: PATH#{parts[0]}." if parts else ""
        raise Faults(
            f"{where}: expected samples as one of {', '.join(SAMPLES)}; it has {told}.{hint}"
        )
    meant = {key: _find(arrays, names, part) for key, names in MEANT.items()}
    if not arrays[samples].ndim:
        told = described(arrays[samples])
        raise Faults(f"{where}: {samples} is {told}; expected one sample a row.")
    num_rows = len(arrays[samples])
    notes, free = [], []
    for name in arrays:
        if name in (samples, *meant.values()) or (part and not name.endswith(f"_{part}")):
            continue
        if arrays[name].shape == (num_rows,):
            free.append(name)
        else:
            notes.append(f"the array {name} ({described(arrays[name])}) was left out")
    for key, found in meant.items():
        if found and arrays[found].shape not in ((num_rows,), (num_rows, 1)):
            raise Faults(
                f"{where}: {found} ({key}) is {described(arrays[found])}; expected "
                f"{num_rows} values, one for each row of {samples}."
            )
    items = _items({**arrays}, samples, meant, free)
    return Reading(kind=kind, items=items, notes=notes)


def _plain(name: str, part: str) -> str:
    return name.lower().removesuffix(f"_{part}") if part else name.lower()


def _find(arrays: Arrays, names: tuple[str, ...], part: str) -> str | None:
    found = [
        name
        for name in arrays
        if _plain(name, part) in names and (not part or name.lower() != _plain(name, part))
    ]
    return min(found, key=lambda name: names.index(_plain(name, part)), default=None)


def _items(
    arrays: Arrays, samples: str, meant: Mapping[str, str | None], free: list[str]
) -> Iterator[Item]:
    flat = {key: arrays[name].reshape(-1) for key, name in meant.items() if name}
    for at, sample in enumerate(arrays[samples]):
        said = {key: text_of(values[at]) for key, values in flat.items()}
        yield Item(
            id=said.get("id") or f"row-{at:06d}",
            sample=sample,
            label=said.get("label", ""),
            group=said.get("group", ""),
            free=free_columns({name: arrays[name][at] for name in free}),
        )
