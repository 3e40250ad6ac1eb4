"""Which workspaces share a cache: each leaves a mark in one that lies outside of itself."""

import hashlib
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lineage import atomic
from lineage.dvc_repo import cache_of

MARKS = "assay-workspaces"


def mark(workspace: Path, cache: Path) -> None:
    """Say in a cache that lies outside of a workspace that this one uses it."""
    workspace, cache = workspace.resolve(), cache.resolve()
    if cache.is_relative_to(workspace):
        return
    text = f"{socket.gethostname()}\n{workspace}\n"
    path = cache / MARKS / hashlib.sha256(text.encode()).hexdigest()[:16]
    if path.exists():
        return
    with suppress(PermissionError):  # where only its objects may be added to, a run still runs
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):
            path.parent.chmod(cache.stat().st_mode & 0o7777)  # whoever shares it may leave theirs
        atomic.write(path, text)


def others(workspace: Path, cache: Path) -> Iterator[tuple[Path, str]]:
    """Yield the marks of other workspaces that still use a cache, and where those are."""
    workspace, cache = workspace.resolve(), cache.resolve()
    for path in sorted((cache / MARKS).glob("[0-9a-f]*")):
        host, _, rest = path.read_text(encoding="utf-8", errors="replace").partition("\n")
        other = Path(rest.removesuffix("\n"))
        if host != socket.gethostname():  # it cannot be seen from here
            yield path, f"{other} on {host}"
        elif other != workspace and _uses(other, cache):
            yield path, str(other)


def _uses(other: Path, cache: Path) -> bool:
    if not (other / ".dvc").is_dir():
        return False
    try:
        return cache_of(other).resolve() == cache
    except Exception:  # noqa: BLE001  what its configuration says cannot be told: it may
        return True
