"""Speaks to a program in any language: one .npy array in, one .npy array out; docs/protocol.md."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import selectors
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from sides import case_code, privacy
from sides.case_code import CaseCodeError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

ANSWER_S = 60.0
"""How long a program may take for one sample, its start included."""
BATCH_S = 600.0
"""How long a model's program may take for one batch."""
END_S = 2.0
"""How long a program may take to end by itself once its input has ended."""

POLL_S = 1.0
"""How often it is looked whether a program that says nothing still runs."""

MAGIC = b"\x93NUMPY"
VERSIONS = {1: 2, 2: 4}  # major version -> bytes of the header's length
MAX_HEADER = 64 * 1024
MAX_BYTES = 1 << 40
CHUNK = 1 << 20
STDERR_BYTES = 4096  # its last words, kept for the message
STDERR_LINES = 12
HEARD = 64  # reads of stderr after a fault: one that never stops writing is left alone
SHOWN = 24  # bytes of junk in a message


def words_of(command: Sequence[str], args: Dict[str, Any]) -> List[str]:
    """Return a step's whole command: each of its `args` follows as `--name=value`.

    A text stands as it is, everything else as JSON.
    """
    texts = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in args.items()
    }
    return [*command, *(f"--{name}={text}" for name, text in texts.items())]


def find(words: Sequence[str], what: str) -> List[str]:
    """Return the words with every file of the case's code spelt in full.

    Raises:
        CaseCodeError: the program is in no folder of the case's code and not on the image's PATH.
    """
    found = [_in_code(word) or word for word in words]
    program = found[0]
    if program == words[0]:
        program = shutil.which(words[0]) or ""
    if not program:
        searched = ", ".join(case_code.FOLDERS) or "no folder of the case's code"
        text = f"{what}: no program {words[0]}. Looked in: {searched}, and on the image's PATH."
        raise CaseCodeError(text)
    if not os.access(program, os.X_OK):
        text = f"{what}: {words[0]} is not executable. Mend it with `chmod +x {words[0]}`."
        raise CaseCodeError(text)
    return [program, *found[1:]]


def _in_code(word: str) -> Optional[str]:
    if os.path.isabs(word):
        return None
    places = (os.path.join(folder, word) for folder in case_code.FOLDERS)
    return next((place for place in places if os.path.isfile(place)), None)


class Program:
    """One process, asked again and again; ended with `close`."""

    def __init__(self, words: Sequence[str], what: str, answer_s: float = ANSWER_S) -> None:
        self._what = what
        self._answer_s = answer_s
        self._stderr = b""
        self._rest = b""  # read beyond the last answer: there must be nothing
        try:
            self._process = subprocess.Popen(
                find(words, what),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            hint = "A script begins with `#!` and an interpreter that the image has."
            text = f"{what}: {words[0]} could not be started: {error.strerror}. {hint}"
            raise CaseCodeError(text) from None
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            os.set_blocking(pipe.fileno(), False)  # type: ignore[union-attr]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, value: Any, place: str = "") -> NDArray[Any]:
        """Hand over one array and return the answer.

        Args:
            value: an array, or a file's bytes.
            place: what it is about, for the message: ` on sample 17 (a-17)`.

        Raises:
            CaseCodeError: it ended, took too long, or wrote something else than one array.
        """
        self._check_rest(place)
        return self._exchange(_Outgoing(value), place)

    def _check_rest(self, place: str) -> None:
        """Refuse what stands behind an answer: it would pass for the next one."""
        self._rest = self._rest or _read(self._process.stdout) or b""
        if self._rest:
            raise self._fault(place, f"wrote {_shown(self._rest)} behind its last answer")

    def _exchange(self, outgoing: _Outgoing, place: str) -> NDArray[Any]:
        """Write and read as either is possible, so that neither side waits for the other."""
        answer = _Answer()
        deadline = time.monotonic() + self._answer_s
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdin, selectors.EVENT_WRITE)  # type: ignore[arg-type]
            ready.register(self._process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            ready.register(self._process.stderr, selectors.EVENT_READ)  # type: ignore[arg-type]
            while not (answer.whole and outgoing.done):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._fault(place, f"gave no answer within {self._answer_s:g} s")
                events = ready.select(min(left, POLL_S))
                if not events and self._process.poll():  # a child of its own holds its pipes
                    raise self._fault(place, self._ended(answer))
                for key, _ in events:
                    if key.fileobj is self._process.stdin:
                        if not outgoing.write(key.fd) or outgoing.done:
                            ready.unregister(key.fileobj)
                    elif key.fileobj is self._process.stderr:
                        if not self._hear():
                            ready.unregister(key.fileobj)  # its end, or select would spin
                    elif not self._read(answer, place):
                        ready.unregister(key.fileobj)
        self._rest = answer.rest
        return answer.array

    def _read(self, answer: _Answer, place: str) -> bool:
        """Take what is there; False once the answer is whole and its end was seen."""
        chunk = _read(self._process.stdout)
        if chunk is None:
            return True
        if not chunk and answer.whole:
            return False
        if not chunk:
            raise self._fault(place, self._ended(answer))
        try:
            answer.feed(chunk)
        except ValueError as error:
            raise self._fault(place, str(error)) from None
        return True

    def _hear(self) -> bool:
        """Keep the last of what stands in stderr; False when there is nothing."""
        chunk = _read(self._process.stderr)
        self._stderr = (self._stderr + (chunk or b""))[-STDERR_BYTES:]
        return bool(chunk)

    def _ended(self, answer: _Answer) -> str:
        try:
            code: Optional[int] = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            code = None
        how = "closed its output" if code is None else f"ended with status {code}"
        if code is not None and code < 0:
            how = f"was ended by {_signal(-code)}"
        return f"{how} {answer.progress}"

    def _fault(self, place: str, how: str) -> CaseCodeError:
        """Return the error, with the program's last words where they may be told."""
        for _ in range(HEARD):
            if not self._hear():
                break
        lines = self._stderr.decode("utf-8", "replace").splitlines()[-STDERR_LINES:]
        if privacy.is_private():
            lines = [f"({privacy.WITHHELD})"] if lines else []
        said = [f"  {line}" for line in lines]
        return CaseCodeError("\n".join([f"{self._what} failed{place}: {how}.", *said]))

    def finish(self) -> None:
        """End its input and wait for it, once it was asked for the last time.

        Raises:
            CaseCodeError: it wrote more answers than it was asked for, so that they are not those
                of their samples.
        """
        self._let_end()
        self._check_rest("")

    def close(self) -> None:
        """End it, by force if it does not end by itself."""
        self._let_end()
        process = self._process
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def _let_end(self) -> None:
        process = self._process
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S)


class _Outgoing:
    """An array on its way into a pipe."""

    def __init__(self, value: Any) -> None:
        if isinstance(value, (bytes, bytearray, memoryview)):
            value = np.frombuffer(value, dtype=np.uint8)
        array = np.asarray(value, order="C")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        header = io.BytesIO()
        described = {
            "descr": np.lib.format.dtype_to_descr(array.dtype),
            "fortran_order": False,
            "shape": array.shape,
        }
        np.lib.format.write_array_header_1_0(header, described)
        self._parts = [memoryview(header.getvalue()), memoryview(array.tobytes())]

    @property
    def done(self) -> bool:
        """All was taken, or nobody reads any more."""
        return not self._parts

    def write(self, descriptor: int) -> bool:
        """Write what goes; False when nobody reads any more."""
        try:
            taken = os.write(descriptor, self._parts[0][:CHUNK])
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self._parts = []
            return False
        self._parts[0] = self._parts[0][taken:]
        self._parts = [part for part in self._parts if len(part)]
        return True


class _Answer:
    """An array on its way out of a pipe."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._data_at = 0  # 0: the header is not whole yet
        self._wanted = 0
        self._shape: Tuple[int, ...] = ()
        self._dtype = np.dtype("u1")
        self._fortran = False

    def feed(self, chunk: bytes) -> None:
        """Take bytes.

        Raises:
            ValueError: they are no array; says what they are.
        """
        self._bytes += chunk
        if not self._data_at:
            self._header()

    @property
    def whole(self) -> bool:
        """Nothing is missing."""
        return bool(self._data_at) and len(self._bytes) >= self._data_at + self._wanted

    @property
    def rest(self) -> bytes:
        """What follows the array."""
        return bytes(self._bytes[self._data_at + self._wanted :])

    @property
    def progress(self) -> str:
        """How far it came."""
        if not self._data_at:
            return "before its answer's header was whole" if self._bytes else "without an answer"
        have = len(self._bytes) - self._data_at
        return f"after {have} of the {self._wanted} bytes that its answer's header promised"

    @property
    def array(self) -> NDArray[Any]:
        """The answer, free to be written to."""
        count = self._wanted // max(self._dtype.itemsize, 1)
        flat = np.frombuffer(self._bytes, self._dtype, count, self._data_at)
        shaped = flat.reshape(self._shape[::-1]).T if self._fortran else flat.reshape(self._shape)
        answer: NDArray[Any] = np.array(shaped, dtype=self._dtype.newbyteorder("="), order="C")
        return answer

    def _header(self) -> None:
        have = bytes(self._bytes[: len(MAGIC) + 6])
        if have[: len(MAGIC)] != MAGIC[: len(have)]:
            raise ValueError(f"wrote {_shown(self._bytes)} where an array's header was expected")
        start = len(MAGIC) + 2
        if len(have) < start:
            return
        size = VERSIONS.get(have[len(MAGIC)])
        if size is None:
            raise ValueError(f"wrote an array of format {have[len(MAGIC)]}; expected 1.0")
        if len(have) < start + size:
            return
        length = int.from_bytes(have[start : start + size], "little")
        if length > MAX_HEADER:
            raise ValueError(f"wrote a header of {length} bytes; at most {MAX_HEADER} are read")
        end = start + size + length
        if len(self._bytes) >= end:
            self._take_header(bytes(self._bytes[start:end]), size)
            self._data_at = end

    def _take_header(self, text: bytes, size: int) -> None:
        read = np.lib.format.read_array_header_1_0
        if size != VERSIONS[1]:
            read = np.lib.format.read_array_header_2_0
        try:
            self._shape, self._fortran, self._dtype = read(io.BytesIO(text))
        except Exception:  # noqa: BLE001  numpy raises what its parser does
            shown = _shown(text[size:])
            raise ValueError(f"wrote a header that cannot be read: {shown}") from None
        if self._dtype.kind not in "biuf" or min(self._shape, default=0) < 0:
            raise ValueError(f"answered {self._dtype} {list(self._shape)}; expected numbers")
        self._wanted = math.prod(self._shape) * self._dtype.itemsize
        if self._wanted > MAX_BYTES:
            raise ValueError(f"answered {self._dtype} {list(self._shape)}; that is too large")


def _read(pipe: Any) -> Optional[bytes]:
    """Return what is there, b"" at the end, None when there is nothing yet."""
    try:
        return os.read(pipe.fileno(), CHUNK)
    except BlockingIOError:
        return None


def _shown(junk: Sequence[int]) -> str:
    if privacy.is_private():
        return f"{len(junk)} bytes"
    return repr(bytes(junk[:SHOWN]))[1:]


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
