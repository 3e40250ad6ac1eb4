"""Who started a job, and is that process still there? Written in a label, read by the next one."""

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Self

LABEL: Final = "assay.owner"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from a later one with the same number."""

    host: str
    boot: str  # a pid means nothing after a reboot
    pid_space: str  # nor in another container on the same kernel
    pid: int
    started: str  # nor when the number was given again

    @classmethod
    def me(cls) -> Self:
        """Return this process."""
        pid = os.getpid()  # asked each time: a fork is another owner
        return cls(socket.gethostname(), _boot(), _pid_space(), pid, started(pid) or "")

    @classmethod
    def parse(cls, label: str) -> Self | None:
        """Return the owner that a label names, or None where it names none."""
        parts = label.split("|")
        if len(parts) != 5 or not parts[3].isdigit():  # noqa: PLR2004 - the fields above
            return None
        return cls(parts[0], parts[1], parts[2], int(parts[3]), parts[4])

    def __str__(self) -> str:
        return f"{self.host}|{self.boot}|{self.pid_space}|{self.pid}|{self.started}"

    def is_dead(self) -> bool:
        """Tell a process that is surely gone; one that cannot be seen from here counts as alive."""
        if self.host != socket.gethostname():
            return False
        if self.boot != _boot():
            return True
        if self.pid_space != _pid_space():
            return False
        return started(self.pid) != self.started

    def in_words(self) -> str:
        """Return the owner as a person would look for it."""
        return f"process {self.pid} on {self.host}"


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        import psutil

        return str(
            round(psutil.boot_time(), -2)
        )  # the clock drifts by seconds, a boot takes longer


@cache
def _pid_space() -> str:
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return "one"


def started(pid: int) -> str | None:
    """Return when a process started (in the kernel's ticks since boot), or None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return None
        return _started_elsewhere(pid)
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def _started_elsewhere(pid: int) -> str | None:
    import psutil

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
