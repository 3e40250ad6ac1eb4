"""Files that are there whole or not at all, also after a power cut."""

import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def write(path: Path, text: str, *, flushed: bool = True) -> None:
    """Replace a file in one step; not flushed, a power cut (no other death) may leave it empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            if flushed:
                file.flush()
                os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if flushed:
        flush([path.parent])


def sweep(path: Path) -> None:
    """Remove what writers of a file left that were killed; nobody may be writing it now."""
    for left in path.parent.glob(f".{path.name}.*"):
        left.unlink(missing_ok=True)


def flush(paths: Iterable[Path]) -> None:
    """Wait until files or folders are on the disk; many at once, as each waits for the journal."""
    wanted = list(paths)
    if len(wanted) == 1:
        _fsync(wanted[0])
    elif wanted:
        with ThreadPoolExecutor(min(8, len(wanted))) as pool:
            list(pool.map(_fsync, wanted))


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
