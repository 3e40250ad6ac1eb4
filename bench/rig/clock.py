"""Times that survive a busy machine: CPU seconds of whole processes, and pairs taken in turn."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one command took."""

    wall_s: float
    cpu_s: float  # of the process and all that it waited for
    peak_rss_bytes: int  # of the process alone
    status: int
    stdout: str


def in_turn(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    before_round: Callable[[int], object] = lambda _number: None,
) -> dict[str, list[float]]:
    """Time each contestant once a round (A B C, A B C, ...), so that a busy spell meets all alike.

    Args:
        contestants: what is timed, by name.
        rounds: how many are counted; one more, for warmth, goes first.
        before_round: is given the round's number; not timed.

    Returns:
        Wall seconds a contestant, in the order of the rounds: equal positions are a pair.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        before_round(number)
        for name, call in contestants.items():
            began = time.perf_counter()
            call()
            if number > 0:
                times[name].append(time.perf_counter() - began)
    return times


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return what ours took more than theirs, pair by pair."""
    return [our - their for our, their in zip(ours, theirs, strict=True)]


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return ours over theirs, pair by pair."""
    return [our / their for our, their in zip(ours, theirs, strict=True)]


def spend(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    watch: Callable[[int], None] | None = None,
) -> Spent:
    """Run a command to its end and say what it took.

    Args:
        command: the program and its arguments; stderr is thrown away.
        folder: where it runs.
        environment: all of its variables; this process's by default.
        watch: is given the process's number twenty times a second while it runs.
    """
    peak = 0
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        said = b""
        while True:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, _peak_rss_bytes(process.pid))
            if watch is not None:
                watch(process.pid)
            said += process.stdout.read() or b""
            time.sleep(POLL_S if watch else POLL_S / 10)
        wall_s = time.perf_counter() - began
        said += process.stdout.read() or b""
        process.returncode = os.waitstatus_to_exitcode(code)
    return Spent(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_bytes=peak or usage.ru_maxrss * 1024,
        status=process.returncode,
        stdout=said.decode(),
    )


def _peak_rss_bytes(pid: int) -> int:
    # Not the rusage's: that is the largest of the process and of all its children.
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
