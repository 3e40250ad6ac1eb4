"""What a stage has written is looked at before it becomes an output."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lineage import atomic
from lineage.row import Row

MAX_NOTE_BYTES = 1 << 20
KEEP = ".keep"


class BadOutput(Exception):  # noqa: N818 - reads as the fact that it is
    """The staging folder holds what must not become an output; the message names it."""


def take_note(staging: Path, name: str) -> dict[str, Any] | None:
    """Remove a small JSON file from staging and return it; None where there is none to trust."""
    path = staging / name
    try:
        status = path.lstat()
    except OSError:
        return None
    # A link could show a file of the host, a FIFO would hang the reader.
    plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    if not plain or status.st_size > MAX_NOTE_BYTES:
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    path.unlink()
    return content if isinstance(content, dict) else None


def check(row: Row, staging: Path) -> None:
    """Accept regular files and folders, all that is declared and nothing else; then flush to disk.

    Modes and owners are made plain, so that what is cached does not depend on the stage's umask. An
    output folder that is empty gets a `.keep`, since DVC restores no empty folder.

    Raises:
        BadOutput: names the first offender.
    """
    declared = {path[len(row.folder) + 1 :] for path in row.outputs.values()}
    found = []
    owner = staging.stat().st_uid
    for path, status in _walk(staging):
        name = path.relative_to(staging).as_posix()
        _refuse(row, name, status, owner)
        _plain(path, status)
        found.append(path)
    for wanted in sorted(declared):
        if not (staging / wanted).exists():
            raise BadOutput(f"{row.name} ended well but did not write its output {wanted}.")
        _keep_empty(staging / wanted, found)
    allowed = {name.split("/")[0] for name in declared}
    for path in sorted(staging.iterdir()):
        if path.name not in allowed:
            raise BadOutput(
                f"{row.name} wrote {path.name}, which it does not declare. Declare it in "
                f"`Outputs`, or write it under /tmp."
            )
    atomic.flush([*found, staging])


def _keep_empty(path: Path, found: list[Path]) -> None:
    if path.is_dir() and not any(files for _, _, files in os.walk(path)):
        keep = path / KEEP
        keep.touch(mode=0o644)
        found.append(keep)


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        status = entry.stat(follow_symlinks=False)
        path = Path(entry.path)
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(path)


def _refuse(row: Row, name: str, status: os.stat_result, owner: int) -> None:
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        kinds = {stat.S_IFLNK: "a symlink", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
        what = kinds.get(stat.S_IFMT(status.st_mode), "a device")
    elif stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        what = "a hard link"
    elif status.st_uid != owner:
        what = f"which user {status.st_uid} owns, while the folder is user {owner}'s"
    elif name.rpartition("/")[2] == ".dvcignore":
        what = "a file that tells DVC what to leave out"
    elif not name.isprintable():
        what = "a name that is not plain text"
    else:
        return
    raise BadOutput(
        f"{row.name} left {name!r}, {what}. An output is made of regular files and folders, all of "
        "the stage's own."
    )


def _plain(path: Path, status: os.stat_result) -> None:
    mode = 0o755 if stat.S_ISDIR(status.st_mode) else 0o644
    if stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)


def swap(staging: Path, target: Path, old: Path) -> None:
    """Put new outputs in place of the former ones.

    Both moves are renames: nobody sees half an output, and a cached file that the former folder
    shares with the cache is unlinked with it, never written to.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        target.rename(old)
    staging.chmod(0o755)
    staging.rename(target)
    atomic.flush([target.parent])


def swap_back(target: Path, old: Path) -> None:
    """Put the former outputs, if there were any, in place of the new ones."""
    shutil.rmtree(target, ignore_errors=True)
    if os.path.lexists(old):
        old.rename(target)
