"""A job's name as a fence between processes: a lock that the job itself inherits.

The lock is held as long as the job's main process lives, so a job whose runner was killed still
holds it, and the next one ends that orphan instead of writing over its outputs. Its file stands
beside the job's log, in a folder that nobody else can write to, and goes with the job.
"""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from containers.job import Job, RunnerError
from containers.owner import Owner, started

ORPHAN_LIMIT_S: Final = 5.0
SUFFIX: Final = ".fence"


@dataclass(frozen=True, slots=True)
class Fence:
    """A held lock; `descriptor` is what the job inherits."""

    name: str
    descriptor: int

    def note(self, group: int | None) -> None:
        """Write down whose job it is and its process group, for whoever finds the lock taken.

        Before it has a group it is noted without one: it may be started once it is noted with one.
        """
        began = started(group) if group is not None else None
        text = f"{Owner.me()}\n{group or ''}\n{began or ''}\n{self.name}\n".encode()
        os.pwrite(self.descriptor, text, 0)
        os.ftruncate(self.descriptor, len(text))


@dataclass(frozen=True, slots=True)
class _Holder:
    """Who holds a lock, as far as its file tells."""

    owner: Owner | None
    group: int | None
    began: str
    name: str

    @property
    def is_orphan(self) -> bool:
        return self.owner is not None and self.owner.is_dead()

    def end(self) -> None:
        """Kill the group, if its leader is still the noted one: numbers are given again."""
        if self.group is not None and started(self.group) == self.began:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group, signal.SIGKILL)


@contextmanager
def fenced(job: Job) -> Iterator[Fence]:
    """Hold a job's name among those that log to one folder, ending an orphan of a dead owner first.

    Raises:
        RunnerError: a job of that name runs, and its owner is alive.
    """
    job.log.parent.mkdir(parents=True, exist_ok=True)
    path = job.log.parent / f".{sha256(job.name.encode()).hexdigest()[:32]}{SUFFIX}"
    descriptor = _held(path, job.name)
    try:
        fence = Fence(job.name, descriptor)
        fence.note(None)
        yield fence
    finally:
        path.unlink(missing_ok=True)  # before the lock goes, or it would be another's file
        os.close(descriptor)


def _held(path: Path, name: str) -> int:
    give_up = time.monotonic() + ORPHAN_LIMIT_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if _take(descriptor, path):
            return descriptor
        holder = _read(descriptor)
        is_file = _is_still(descriptor, path)
        os.close(descriptor)
        if not is_file:
            continue  # its last holder has just removed it
        # One that names nobody is held for a moment: it is being noted, or looked at and removed.
        is_owned = holder.owner is not None and not holder.is_orphan
        if is_owned or time.monotonic() > give_up:
            whose = f" of {holder.owner.in_words()}" if holder.owner else ""
            raise RunnerError(
                f"A job named {name}{whose} is running. Wait for it, or end that process."
            )
        holder.end()
        time.sleep(0.05)


def _take(descriptor: int, path: Path) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _is_still(descriptor, path)
    return False


def _is_still(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _read(descriptor: int) -> _Holder:
    text = os.pread(descriptor, 4096, 0).decode(errors="replace")
    owner, group, began, name, *_ = [*text.split("\n"), "", "", "", ""]
    return _Holder(Owner.parse(owner), int(group) if group.isdigit() else None, began, name)


def reap(logs: Path) -> list[str]:
    """End the orphans whose fences stand anywhere under a folder; returns their jobs' names."""
    ended = []
    for path in sorted(logs.rglob(f".*{SUFFIX}")):
        with suppress(OSError):  # it went at this moment, or is another user's
            name = _reaped(path)
            if name is not None:
                ended.append(name)
    return ended


def _reaped(path: Path) -> str | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        holder = _read(descriptor)
        if holder.owner is not None and not holder.is_orphan:
            return None
        # One that names nobody is a living job's, about to be noted, unless nobody holds it.
        give_up = time.monotonic() + (ORPHAN_LIMIT_S if holder.is_orphan else 0)
        was_alive = False
        while not _take(descriptor, path):
            if not _is_still(descriptor, path) or time.monotonic() > give_up:
                return None
            was_alive = True
            holder.end()
            time.sleep(0.01)
        path.unlink(missing_ok=True)
        return holder.name if was_alive else None
    finally:
        os.close(descriptor)
