"""Temporary folders that say whose they are, so that a killed process leaves none for ever."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from containers.owner import Owner, started

PREFIX: Final = "assay-"
_NAME: Final = re.compile(rf"{PREFIX}([0-9a-f]{{8}})-([0-9a-f]{{8}})-([0-9]+)-([0-9.]+)-.+")


@contextmanager
def scratch(where: Path | None = None, prefix: str = PREFIX) -> Iterator[Path]:
    """Make a folder, and remove it after; should this process be killed, `sweep` will.

    Args:
        where: in which folder; None: where the system keeps temporary files.
        prefix: what its name begins with; `sweep` looks for the same.
    """
    place = Path(tempfile.mkdtemp(prefix=f"{prefix}{mark()}-", dir=where))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)  # follows no link


def sweep(where: Path | None = None, prefix: str = PREFIX) -> None:
    """Remove the folders of dead processes; one that cannot be told from a living one's stays."""
    for path in Path(where or tempfile.gettempdir()).glob(f"{prefix}*"):
        found = _NAME.fullmatch(f"{PREFIX}{path.name.removeprefix(prefix)}")
        if found and _is_dead(*found.groups()):
            shutil.rmtree(path, ignore_errors=True)


def mark() -> str:
    """Return this process as a part of a name: boot, host and pid space, pid, start."""
    me = Owner.me()
    return f"{_short(me.boot)}-{_short(me.host, me.pid_space)}-{me.pid}-{me.started or 0}"


def _is_dead(boot: str, space: str, pid: str, began: str) -> bool:
    me = Owner.me()
    if space != _short(me.host, me.pid_space):
        return False
    return boot != _short(me.boot) or started(int(pid)) != began


def _short(*parts: str) -> str:
    return sha256("|".join(parts).encode()).hexdigest()[:8]
