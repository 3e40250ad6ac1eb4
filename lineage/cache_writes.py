"""A cache on a disk that is full or read-only: one clear error, and nothing half-written."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lineage.disk import free_bytes

_REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


class CacheUnwritable(Exception):  # noqa: N818 - reads as the fact that it is
    """The cache takes nothing more; the message names it, its free space and the next step."""

    exit_status = 3

    def __init__(self, cache: Path, error: OSError) -> None:
        free = f"{free_bytes(cache) / 2**20:.1f} MiB free"
        super().__init__(
            f"The cache {cache} cannot be written to: {error.strerror} ({free}). Make room on its "
            "disk (`assay prune`), or name another folder by `dvc cache dir --local FOLDER`; then "
            "run again: what was finished is restored."
        )


@contextmanager
def cache_writes(cache: Path) -> Iterator[None]:
    """Write to a cache.

    Raises:
        CacheUnwritable: its disk refuses.
    """
    # DVC only logs that an object did not get into its cache, and leaves half of it behind.
    swallowed: list[OSError] = []

    def catch(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError):
            swallowed.append(error)
        return not isinstance(error, OSError)

    log = logging.getLogger("dvc_data.hashfile.transfer")
    log.addFilter(catch)
    try:
        yield
    except Exception as error:
        refusal = swallowed[0] if swallowed else _refusal(error)
        if refusal is None:
            raise
        raise CacheUnwritable(cache, refusal) from error
    finally:
        log.removeFilter(catch)
        for one in swallowed:
            _remove_half(cache, one.filename2)
    if swallowed:
        raise CacheUnwritable(cache, swallowed[0])


def _refusal(error: BaseException | None) -> OSError | None:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            return error
        error = error.__cause__ or error.__context__
    return None


def _remove_half(cache: Path, name: object) -> None:
    half = Path(str(name))
    if name is not None and half.suffix == ".tmp" and half.is_relative_to(cache):
        half.unlink(missing_ok=True)
