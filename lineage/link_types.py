"""How a worktree gets what is in the cache: by reflinks, or else by hard links."""

import tempfile
from pathlib import Path
from typing import Any

from lineage.cache_writes import cache_writes


def link_types(cache: Path) -> str:
    """Return DVC's `cache.type` for a cache's file system: reflinks, or else hard links.

    `reflink,hardlink,copy` leaves copies beside the cache where there are no reflinks, since DVC
    takes a plain file for a reflink.

    Raises:
        CacheUnwritable: the cache's disk refuses.
    """
    from dvc_objects.fs import system

    reflink: Any = system.reflink

    with cache_writes(cache):
        cache.mkdir(parents=True, exist_ok=True)
        probe = tempfile.TemporaryDirectory(dir=cache, prefix=".probe-")
    with probe as folder, cache_writes(cache):
        source = Path(folder) / "source"
        source.write_bytes(b"x")
        try:
            reflink(str(source), str(Path(folder) / "copy"))
        except (OSError, NotImplementedError):
            return "hardlink,copy"
    return "reflink,copy"
