"""Half-written files that killed processes left in a cache; those of the living stay."""

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

_LEFT = re.compile(r"^\..*\.tmp$|^\..+\.[A-Za-z0-9_]{8}$|^\.probe-.*")
"""As DVC, `lineage.atomic` and the probe of a cache's links name what is not yet in place."""

CLOSED_TO_PLACED_S = 0.5
"""Far longer than a living process takes from closing such a file to putting it in place."""

FOREIGN_S = 3600.0
"""So long untouched, a file is nobody's, also of another host that shares the cache."""


def sweep(cache: Path, *, shared: bool) -> list[Path]:
    """Remove what nobody writes any more, and return it.

    Args:
        cache: the cache's folder.
        shared: other hosts may write to it, whose processes are not seen from here.
    """
    before = {path: path.lstat().st_mtime_ns for path in _left(cache)}
    if not before:
        return []
    time.sleep(CLOSED_TO_PLACED_S)
    held = _held(cache)
    gone = []
    for path, mtime_ns in before.items():
        try:
            now_ns = path.lstat().st_mtime_ns
        except FileNotFoundError:
            continue
        is_old = time.time() - now_ns / 1e9 > FOREIGN_S
        if now_ns == mtime_ns and (is_old or (held is not None and not shared)):
            if held and any(Path(one).is_relative_to(path) for one in held):
                continue
            _remove(path)
            gone.append(path)
    return gone


def _left(cache: Path) -> Iterator[Path]:
    for pattern in (".probe-*", "files/md5/??/.*", "runs/??/*/.*", "assay/??/.*", "assay/??/*/.*"):
        yield from (path for path in cache.glob(pattern) if _LEFT.match(path.name))


def _held(cache: Path) -> set[str] | None:
    """Return what living processes have open in a cache; None where nobody can say."""
    if not Path("/proc/self/fd").is_dir():
        return None
    found = set()
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            name = str(handle.readlink())
        except OSError:
            continue
        if name.startswith(f"{cache}/"):
            found.add(name)
    return found


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
