"""Finds what a person means by a file, a hash, a path or a run, in all runs at once."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Literal

from lineage.cache_objects import place as object_place
from lineage.hostile import is_object
from lineage.objects import DIR, case_of
from lineage.run_index import Made, Place, RunIndex
from lineage.run_tags import RunUnknown, find

SHORTEST = 6  # digits of a hash that are enough to look for
LONGEST = 1000  # characters of what a person may name
SHOWN = 5
_HASH = re.compile(r"(?:sha256:|md5:|docker:|process:)?([0-9a-f]{6,64})(\.dir)?")
_IGNORED = ("__pycache__", ".pyc")

As = Literal["file", "folder", "hash", "path", "run", "image or log"]


class LineageUnknown(Exception):  # noqa: N818 - reads as the fact that it is
    """Nothing in any run is what was asked for."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What was meant."""

    told: As
    places: tuple[Place, ...] = ()
    run: str | None = None  # the run that was named
    made: tuple[Made, ...] = ()  # by an image, an environment or a log


def seek(workspace: Path, index: RunIndex, what: str, say: Callable[[str], None]) -> Sought:
    """Find what is meant: a file by its content, RUN:PATH, a hash or its beginning, a path, a run.

    Args:
        workspace: the repository.
        index: of all its runs.
        what: as a person wrote it.
        say: takes a line of progress, where many files have to be read.

    Raises:
        LineageUnknown: there is no such thing in any run; the message says what was searched.
    """
    if not what.strip() or len(what) > LONGEST:
        said = f"What was named has {len(what)} characters" if what.strip() else "Nothing was named"
        raise LineageUnknown(f"{said}. Name a file, a hash, a path or a run: assay lineage WHAT")
    file = _on_disk(what)
    run, colon, path = what.partition(":")
    if colon and not _HASH.fullmatch(what) and file is None:
        return _in_run(index, find(workspace, run), path)
    if file is not None:
        return _content(workspace, index, file)
    hashed = _HASH.fullmatch(what.lower())
    found = _hash(index, hashed[1] + (hashed[2] or ""), say) if hashed else None
    return found or _path(workspace, index, what) or _run(workspace, index, what)


def _on_disk(what: str) -> Path | None:
    """Return a file or folder of this disk; None where there is none, as at a link to itself."""
    path = Path(what)
    try:
        if not (path.is_file() or path.is_dir()):
            return None
        told_by_kernel = {"/proc", "/sys"} & {str(one) for one in path.resolve().parents}
    except (OSError, ValueError, RuntimeError):
        return None
    if told_by_kernel:
        raise LineageUnknown(
            f"{what} is kept on no disk: the system tells of itself there. Name a file of yours."
        )
    return path


def _in_run(index: RunIndex, run_id: str, path: str) -> Sought:
    full = path if path.startswith("cases/") else f"cases/{case_of(run_id)}/{path}"
    for one in index.at(full) or _members_at(index, full):
        if run_id in {*index.runs_that("made", one), *index.runs_that("read", one)}:
            return Sought(told="path", places=(one,), run=run_id)
    raise LineageUnknown(
        f"Run {run_id} neither made nor read {full}. All that it did: assay lineage {run_id}"
    )


def _members_at(index: RunIndex, path: str) -> list[Place]:
    """Return what stood at a path inside of a folder that is known as a whole."""
    for parent in PurePosixPath(path).parents:
        found = index.inside(str(parent), path)
        if found:
            return found
    return []


def _content(workspace: Path, index: RunIndex, path: Path) -> Sought:
    """Find a file or a folder of this disk by its bytes; its name does not matter."""
    told: As = "folder" if path.is_dir() else "file"
    try:
        hashes = [_folder_md5(path)] if path.is_dir() else [_md5(path), _git_blob(path)]
    except OSError as error:
        raise LineageUnknown(f"{path} cannot be read: {error}. Name a file that can.") from None
    places = [one for value in hashes for one in index.places_of(value)]
    if places:
        return Sought(told=told, places=tuple(places))
    here = _here(workspace, path)
    stood = (index.at(here) or _members_at(index, here)) if here else []
    also = (
        f"At its place {len(stood)} other contents stood: assay lineage {stood[0].hash}. "
        if stood
        else ""
    )
    raise LineageUnknown(
        f"No run made or read these bytes: {path}, md5 {hashes[0]}. {also}{_searched(index)} "
        "A run takes it in when its stages read it: assay run CASE."
    )


def _here(workspace: Path, path: Path) -> str | None:
    try:
        return path.resolve().relative_to(workspace.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):  # elsewhere, too long, or a link to itself
        return None


def _hash(index: RunIndex, value: str, say: Callable[[str], None]) -> Sought | None:
    known = index.hashes_like(value, SHOWN + 1)
    if len({one.removesuffix(DIR) for one in known}) > 1:
        more = "more than " if len(known) > SHOWN else ""
        raise LineageUnknown(
            f"{more}{min(len(known), SHOWN)} hashes begin like {value}: "
            f"{', '.join(known[:SHOWN])}. Write more of it."
        )
    if known:
        places = tuple(place for one in known for place in index.places_of(one))
        return Sought(told="hash", places=places)
    made = index.marked(value)
    if made:
        return Sought(told="image or log", made=tuple(made))
    if len(value) == hashlib.sha256().digest_size * 2:
        _add_sha256(index, say)
        places = tuple(p for md5 in index.by_sha256(value) for p in index.places_of(md5))
        if places:
            return Sought(told="hash", places=places)
        raise LineageUnknown(f"No file, image or log has this SHA-256: {value}. {_searched(index)}")
    if value.isdigit() or len(value) < hashlib.md5(usedforsecurity=False).digest_size * 2:
        return None  # it may be the beginning of a run's id
    raise LineageUnknown(
        f"No run made or read what hashes to {value}. {_searched(index)} "
        "If you have the file: assay lineage FILE; if another clone has its run: assay pull RUN."
    )


def _path(workspace: Path, index: RunIndex, what: str) -> Sought | None:
    """Find a path of an artifact: in the newest run that has it."""
    if "/" not in what:
        return None
    written = PurePosixPath(what)
    here = _here(workspace, Path.cwd() / written)
    for path in filter(None, (here, str(written))):
        found = index.at(path) or _members_at(index, path)
        newest = [(max(_runs(index, one), default=""), one) for one in found]
        if newest:
            run_id, place = max(newest)
            return Sought(told="path", places=(place,), run=run_id or None)
    return None


def _runs(index: RunIndex, place: Place) -> list[str]:
    return [*index.runs_that("made", place), *index.runs_that("read", place)]


def _run(workspace: Path, index: RunIndex, what: str) -> Sought:
    try:
        return Sought(told="run", run=find(workspace, what))
    except RunUnknown as error:
        raise LineageUnknown(
            f"{what} is no file here, no hash (or beginning of {SHORTEST} digits) and no path of "
            f"any run. {_searched(index)} {error}"
        ) from None


def _searched(index: RunIndex) -> str:
    """Say what was searched."""
    counts = index.counts()
    runs = "1 run" if counts["runs"] == 1 else f"{counts['runs']} runs"
    return (
        f"Searched: {counts['places']} files and folders of {runs}, and "
        f"{counts['members']} files in those folders."
    )


def _add_sha256(index: RunIndex, say: Callable[[str], None]) -> None:
    """Hash what the cache holds and nobody has hashed yet; kept for the next time."""
    missing = [(md5, object_place(index.cache, md5)) for md5 in index.unhashed() if is_object(md5)]
    there = [(md5, path) for md5, path in missing if path.is_file()]
    if there:
        say(f"hashing {len(there)} files of the cache, once")
    with ThreadPoolExecutor(min(8, os.cpu_count() or 2)) as pool:
        hashes = pool.map(lambda one: (one[0], _digest(one[1], "sha256")), there)
        index.add_sha256(list(hashes))


def _md5(path: Path) -> str:
    return _digest(path, "md5")


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return file_digest(file, kind).hexdigest()


def _git_blob(path: Path) -> str:
    """Return git's own hash of a file."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _folder_md5(folder: Path) -> str:
    """Return DVC's hash of a folder: of the sorted list of its files with theirs."""
    listed = [{"md5": _md5(path), "relpath": name} for name, path in sorted(_files(folder))]
    text = json.dumps(listed, sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + DIR


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and not any(word in path.as_posix() for word in _IGNORED):
            yield path.relative_to(folder).as_posix(), path
