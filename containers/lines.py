"""A job's output as whole lines: to the log file, and to whoever watches."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from containers.job import Reason

POLL_S: Final = 0.1
"""How often cancel and deadline are looked at while the job is silent."""

MAX_LINE_BYTES: Final = 1 << 20
"""A job that prints without end and without a newline must not fill the host's memory."""


MAX_LOG_BYTES: Final = 64 << 20
"""Of one job's lines, kept and shown: one that prints without end must not fill the host's disk."""

CUT: Final = "assay: this log ends here, at {mib} MiB; what the job prints beyond is not kept"


class Splitter:
    """Puts chunks together to whole lines; one per stream, so that two streams never mix in one."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that the chunk completes, without their newline."""
        self._rest += chunk
        if b"\n" not in chunk and len(self._rest) < MAX_LINE_BYTES:
            return []
        if len(self._rest) >= MAX_LINE_BYTES and b"\n" not in self._rest:
            return self.end()
        *whole, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        return [_text(line) for line in whole]

    def end(self) -> list[str]:
        """Return the last line where the job left out its newline."""
        rest, self._rest = self._rest, bytearray()
        return [_text(rest)] if rest else []


def _text(line: bytes | bytearray) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\r")


class Log:
    """The job's log file, open for appending: one write a batch of whole lines."""

    def __init__(self, path: Path, on_line: Callable[[str], None]) -> None:
        self._path = path
        self._on_line = on_line
        self._left_bytes = MAX_LOG_BYTES

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("ab", buffering=0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, lines: list[str]) -> None:
        """Append the lines, then show them; what is beyond the limit is read and let go."""
        kept = self._within(lines)
        self._file.write("".join(f"{line}\n" for line in kept).encode())
        for line in kept:
            self._on_line(line)

    def _within(self, lines: list[str]) -> list[str]:
        kept: list[str] = []
        for line in lines if self._left_bytes >= 0 else []:
            self._left_bytes -= len(line) + 1
            if self._left_bytes < 0:
                return [*kept, CUT.format(mib=MAX_LOG_BYTES >> 20)]
            kept.append(line)
        return kept


class Pump:
    """Reads a source of line batches in a thread, so that the caller's thread can watch the clock.

    The lines are delivered in the caller's thread: a logger may hang on its context.
    """

    def __init__(self, batches: Iterable[list[str]]) -> None:
        # Bounded: the engine keeps what is not yet read, this process need not.
        self._queue: queue.Queue[list[str] | None] = queue.Queue(maxsize=1024)
        self._batches = batches
        self._abandoned = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, name="assay-log", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for batch in self._batches:
                if batch and not self._put(batch):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._error = error
        self._put(None)

    def _put(self, item: list[str] | None) -> bool:
        while not self._abandoned.is_set():
            try:
                self._queue.put(item, timeout=POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def batches(self) -> Iterator[list[str]]:
        """Yield what arrives, and an empty list after `POLL_S` of silence; ends with the source.

        Raises what the source raised.
        """
        while True:
            try:
                batch = self._queue.get(timeout=POLL_S)
            except queue.Empty:
                yield []
                continue
            if batch is None:
                if self._error is not None:
                    raise self._error
                return
            yield batch

    def abandon(self) -> None:
        """Let the thread end though nobody reads any more."""
        self._abandoned.set()


class Watch:
    """The caller's reasons to end a job: its cancel event and its deadline."""

    def __init__(self, timeout_s: float, cancel: threading.Event) -> None:
        self.started = time.monotonic()
        self._deadline = self.started + timeout_s
        self.cancel = cancel

    def verdict(self) -> Reason | None:
        """Return why the job must end now, or None."""
        if self.cancel.is_set():
            return Reason.CANCELLED
        return Reason.TIMED_OUT if time.monotonic() >= self._deadline else None

    def wall_s(self) -> float:
        """Return the seconds since the job was asked for."""
        return time.monotonic() - self.started
