"""A job's name as a fence between processes: a lock that the job itself inherits.

The lock is held as long as the job's main process lives, so a job whose runner was killed still
holds it, and the next one ends that orphan instead of writing over its outputs.
"""

import fcntl
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from containers.job import RunnerError
from containers.owner import Owner, started

ORPHAN_LIMIT_S: Final = 5.0


class Fence:
    """A held lock; `descriptor` is what the job inherits."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def note(self, group: int) -> None:
        """Write down whose job it is and its process group, for whoever finds the lock taken."""
        text = f"{Owner.me()}\n{group}\n{started(group) or ''}\n".encode()
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, text, 0)


@contextmanager
def fenced(name: str) -> Iterator[Fence]:
    """Hold a job's name, ending an orphan of a dead owner first.

    Raises:
        RunnerError: a job of that name runs, and its owner is alive.
    """
    folder = Path(tempfile.gettempdir()) / f"assay-fences-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / sha256(name.encode()).hexdigest()[:32]
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(descriptor, name)
        os.ftruncate(descriptor, 0)
        yield Fence(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, name: str) -> None:
    give_up = time.monotonic() + ORPHAN_LIMIT_S
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        owner, group = _end_orphan(descriptor)
        if group is None or time.monotonic() > give_up:
            whose = f" of {owner.in_words()}" if owner else ""
            raise RunnerError(
                f"A job named {name}{whose} is running. Wait for it, or end that process."
            )
        time.sleep(0.05)


def _end_orphan(descriptor: int) -> tuple[Owner | None, int | None]:
    """Kill the job that holds the lock if its owner is dead; returns the owner, and that group."""
    first, _, rest = os.pread(descriptor, 4096, 0).decode(errors="replace").partition("\n")
    owner = Owner.parse(first)
    group, _, began = rest.strip().partition("\n")
    if owner is None or not owner.is_dead() or not group.isdigit():
        return owner, None
    # Only the group whose leader is still the noted one: a number may have been given again.
    if started(int(group)) == began:
        with suppress(ProcessLookupError):
            os.killpg(int(group), signal.SIGKILL)
    return owner, int(group)
