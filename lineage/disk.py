"""What a disk has left, and the one clear error where it takes nothing more."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_SAID = tuple(os.strerror(number) for number in _NO_ROOM)  # as git and a stage say it
_CLOSED = tuple(os.strerror(number) for number in (errno.EROFS, errno.EACCES))
_TOLD = (*_SAID, *_CLOSED)
_FULL_BELOW_BYTES = 64 * 2**10


class DiskRefuses(Exception):  # noqa: N818 - reads as the fact that it is
    """A disk takes nothing more; the message names the place, what is free and the next step."""

    exit_status = 3

    def __init__(self, what: str, folder: Path, why: str) -> None:
        step = (
            "Make it writable, then run again: what was finished is restored."
            if why in _CLOSED
            else make_room(folder)
        )
        super().__init__(f"{what}, {folder}, cannot be written to: {why}. {step}")


def free_bytes(folder: Path) -> int:
    """Return how much anybody but root may still write to a folder's disk."""
    status = os.statvfs(_existing(folder))
    return status.f_bavail * status.f_frsize


def make_room(folder: Path) -> str:
    """Say what is free at a place, and what to do."""
    free = f"{free_bytes(folder) / 2**20:.1f} MiB are free there now"
    return (
        f"{free}. Make room (`assay prune` drops what old runs keep), then run again: what was "
        "finished is restored."
    )


def is_about_room(text: str) -> bool:
    """Tell whether somebody else's words are about a disk that takes nothing more."""
    return any(said in text for said in _SAID)


def is_full(folder: Path) -> bool:
    """Tell a disk that has no room, or no place for a further file."""
    status = os.statvfs(_existing(folder))
    no_files = status.f_files > 0 and status.f_favail == 0
    return no_files or status.f_bavail * status.f_frsize < _FULL_BELOW_BYTES


def refusal(error: BaseException | None) -> str:
    """Return why a disk refused, if that is what an error comes from; else nothing."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (*_NO_ROOM, errno.EACCES):
            return os.strerror(error.errno)
        error = error.__cause__ or error.__context__
    return ""


@contextmanager
def writes(what: str, folder: Path) -> Iterator[None]:
    """Write to a folder, by whatever tool.

    Args:
        what: what the folder is, as a sentence begins with it.
        folder: the place that is named.

    Raises:
        DiskRefuses: its disk takes nothing more, or it or its repository may not be written to.
    """
    from lineage.git import GitError

    try:
        yield
    except Exception as error:
        foreign = isinstance(error, GitError) or getattr(error, "exit_status", None) is None
        if not foreign:
            raise  # it is told well already
        why = refusal(error) or next((said for said in _TOLD if said in str(error)), "")
        # Neither DVC nor git always says why.
        if not why and not isinstance(error, OSError) and is_full(folder):
            why = os.strerror(errno.ENOSPC)
        closed = _closed(folder) if why in _CLOSED else None
        if not why or (why == os.strerror(errno.EACCES) and closed is None):
            raise  # a file that may not be read, for one
        if closed and not folder.is_relative_to(closed):
            what, folder = "The repository", closed
        raise DiskRefuses(what, folder, why) from error


def _closed(folder: Path) -> Path | None:
    """Return which may not be written to: a folder, or where its repository keeps things."""
    from lineage import git

    place = _existing(folder)
    if not os.access(place, os.W_OK):
        return place
    try:
        kept = Path(git.text(place, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    except git.GitError:
        return None
    parts = (kept, *(kept / name for name in ("objects", "refs", "worktrees")))
    return next((one for one in parts if one.exists() and not os.access(one, os.W_OK)), None)


def _existing(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.exists())
