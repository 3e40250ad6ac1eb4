"""Only one process at a time works on a stage of a worktree."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_S = 0.05
PRUNING = ".assay/prune.lock"
BEGINNING = ".assay/begin.lock"


class Cancelled(Exception):  # noqa: N818 - reads as the fact that it is
    """The caller did not want to wait any longer."""

    exit_status = 130


@contextmanager
def fence(
    path: Path,
    *,
    on_wait: Callable[[], None],
    cancel: threading.Event | None = None,
    shared: bool = False,
) -> Iterator[None]:
    """Hold a file's lock; the kernel lets go of it when the process dies, however it dies.

    Waits for as long as another holds it; several may hold it `shared`.

    Raises:
        Cancelled: `cancel` was set meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    told = False
    try:
        while not _take(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            if cancel is not None and cancel.is_set():
                raise Cancelled(f"Cancelled while another process held {path.stem}.")
            if not told:
                told = True
                on_wait()
            time.sleep(POLL_S)
        yield
    finally:
        os.close(handle)


@contextmanager
def fence_or_skip(path: Path) -> Iterator[bool]:
    """Say whether the lock was to be had at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield _take(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


@contextmanager
def not_while_pruning(workspace: Path) -> Iterator[None]:
    """Begin a run, or bring objects into the cache, while nothing is taken out of it.

    One does not wait for the other: a pull may take long.
    """
    with fence(workspace / PRUNING, on_wait=lambda: None, shared=True):
        yield


@contextmanager
def one_begins(workspace: Path) -> Iterator[None]:
    """Give a new run its id while no other takes one: ids are in the order of the runs."""
    with fence(workspace / BEGINNING, on_wait=lambda: None):
        yield


@contextmanager
def pruning(workspace: Path) -> Iterator[None]:
    """Take objects out of the cache, while no run begins and none are brought."""
    with fence(workspace / PRUNING, on_wait=lambda: None):
        yield


def _take(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
