"""One stage at a time has a host's GPU; the others wait for their turn, and say so.

A file lock, which the kernel lets go of when its holder dies, however it dies: nothing is left to
clear away after a crash, and no server has to be there. It is the host's, whoever's stages run.
"""

import errno
import fcntl
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from containers.job import RunnerError
from containers.owner import Owner

VARIABLE: Final = "ASSAY_GPU_LOCK"
"""Another file for the lock, for a host whose users do not share `/tmp`."""
POLL_S: Final = 0.1


def lock_file() -> Path:
    """Return the host's lock."""
    told = os.environ.get(VARIABLE)
    return Path(told) if told else Path(tempfile.gettempdir()) / "assay-gpu.lock"


@contextmanager
def gpu_turn(
    *, wanted: bool, on_line: Callable[[str], None], cancel: threading.Event
) -> Iterator[tuple[int, ...]]:
    """Hold the GPU; where none is wanted, or once cancelled, hold nothing.

    Yields the lock's descriptor, if it is held: a process that inherits it holds the GPU as well,
    also when this one is killed.

    Args:
        wanted: the job is to have the GPU, and the host has one.
        on_line: is told once that another stage has it.
        cancel: ends the waiting.

    Raises:
        RunnerError: the lock is no file that can be opened or made.
    """
    if not wanted:
        yield ()
        return
    handle = _opened(lock_file())
    try:
        if not _taken(handle, on_line, cancel):
            yield ()
            return
        with suppress(OSError):  # another user's file: then nobody can say who holds it
            # Not by write_text: meanwhile the file's owner may have put a link in its place.
            writing = os.open(lock_file(), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(writing, "w", encoding="utf-8") as file:
                file.write(Owner.me().in_words())
        yield (handle,)
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    try:
        return _open_or_make(path)
    except OSError as error:
        why = error.strerror
    raise RunnerError(
        f"The lock of the host's GPU, {path}, cannot be used: {why}. Name another file, the same "
        f"for all who share the GPU: {VARIABLE}=FILE"
    )


def _open_or_make(path: Path) -> int:
    # A lock needs no right to write: in /tmp the file is that of whoever came first.
    while True:
        with suppress(FileNotFoundError):
            # Without O_NONBLOCK a pipe of that name would be waited at for ever.
            look = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(path, look)
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return handle
            os.close(handle)
            raise OSError(errno.EINVAL, "it is no plain file")
        with suppress(FileExistsError):
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            os.fchmod(made, 0o644)  # others must open it, whatever this user's umask
            os.close(made)


def _taken(handle: int, on_line: Callable[[str], None], cancel: threading.Event) -> bool:
    told = False
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if cancel.is_set():
            return False
        if not told:
            told = True
            holder = os.pread(handle, 200, 0).decode(errors="replace")
            whose = f": {holder} has it" if holder else ""
            on_line(f"assay: waiting for the GPU{whose}")
        time.sleep(POLL_S)
