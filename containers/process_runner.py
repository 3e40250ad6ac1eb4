"""Runs a stage as a process of the host, for a machine with no engine.

No memory limit is imposed: the only one that a process can be given limits its *address space*,
of which torch, CUDA and Arrow reserve many times what they use, and the kernel ignores the limit on
what is really resident. So `memory_bytes` is what a container would be held to, and here a wish.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from containers.environment import scrubbed
from containers.gpu_turn import gpu_turn
from containers.job import Exit, IsolationKind, Job, Reason, Runner, RunnerError
from containers.keys import ROOM, is_family, process_key
from containers.layout import lay_out
from containers.lines import Log, Pump, Splitter, Watch
from containers.process_fence import fenced
from containers.reasons import died_by, told
from containers.sandbox import Sandbox, sandbox

GRACE_S: Final = 2.0
"""Between SIGTERM and SIGKILL of a job that is ended."""
GPU_DEVICE: Final = "/dev/nvidiactl"
GATE: Final = 'read -r _ || exit; unset PWD OLDPWD SHLVL _; exec "$@" </dev/null'
"""What a job waits behind until its fence says whose it is: killed before that, its runner leaves
no process that nobody knows."""
LINGER_S: Final = 1.0
"""How long output is awaited from what outlives the job's main process and its group."""


class ProcessRunner(Runner):
    """The fallback: the same files and environment, the host's interpreter, no wall."""

    kind: IsolationKind = "process"

    def __init__(self, *, lock: Path | None = None, project: Path = ROOM.parent) -> None:
        self._lock = lock
        self._project = project  # hidden from the job, which sees its sandbox alone

    def environment_key(self, image: str) -> str:
        """Return `process:<lock hash, python, platform>`, one for all families."""
        _refuse_foreign(image)
        return process_key(self._lock)

    def run(self, job: Job, *, on_line: Callable[[str], None], cancel: threading.Event) -> Exit:
        """Run a job in a sandbox folder of links and a process group of its own.

        Raises:
            RunnerError: a foreign image, a taken name, a command that is not there.
        """
        _refuse_foreign(job.image)
        with gpu_turn(wanted=job.gpu and has_gpu(), on_line=on_line, cancel=cancel) as turn:
            return self._run(job, on_line, cancel, turn)

    def _run(
        self,
        job: Job,
        on_line: Callable[[str], None],
        cancel: threading.Event,
        turn: tuple[int, ...],
    ) -> Exit:
        watch = Watch(job.timeout_s, cancel)
        ending = watch.verdict()
        if ending is not None:
            return _exit(job, ending, None, watch)
        with (
            fenced(job) as fence,
            sandbox(lay_out(job.mounts), hidden=self._project) as place,
            Log(job.log, on_line) as log,
        ):
            kills_before = _kernel_kills()
            process = _start(job, place, (fence.descriptor, *turn))
            try:
                fence.note(process.pid)
                _let_go(process)
                ending = _supervise(process, log, watch)
            finally:
                _end_group(process)
            killed = _kernel_kills() > kills_before
            reason = _judge(process.returncode, ending, killed=killed)
            return _exit(job, reason, process.returncode, watch)


def has_gpu() -> bool:
    """Tell a host that has a GPU to give to its processes."""
    return Path(GPU_DEVICE).exists()


def _refuse_foreign(image: str) -> None:
    if not is_family(image):
        raise RunnerError(
            f"Image {image} cannot run as a process of the host. Use isolation `docker`, or name "
            "one of the project's own families."
        )


def _start(job: Job, place: Sandbox, kept: tuple[int, ...]) -> "subprocess.Popen[bytes]":
    name = sys.executable if job.command[0] == "python" else job.command[0]
    environment = scrubbed(threads=job.threads, scratch=str(place.scratch), extra=job.environment)
    environment["PATH"] = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    environment["PYTHONPATH"] = f"{place.guard}:{place.root}"
    if not job.gpu:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    if shutil.which(place.root / name if "/" in name else name, path=environment["PATH"]) is None:
        raise RunnerError(
            f"{job.name}: {name} could not be started: it is not there, or is no program."
        )
    return subprocess.Popen(
        ["/bin/sh", "-c", GATE, "assay-job", name, *job.command[1:]],
        cwd=place.root,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=kept,
    )


def _let_go(process: "subprocess.Popen[bytes]") -> None:
    """Open the gate that a job waits behind."""
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    with suppress(BrokenPipeError), process.stdin as gate:
        gate.write(b"go\n")


def _supervise(process: "subprocess.Popen[bytes]", log: Log, watch: Watch) -> Reason | None:
    """Deliver lines and watch the clock; returns why the job was ended, or None."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    pump = Pump(_read(process.stdout))
    ending: Reason | None = None
    kill_at = leave_at = float("inf")
    try:
        for batch in pump.batches():
            if batch:
                log.write(batch)
            if ending is None and process.poll() is None:
                ending = watch.verdict()
                if ending is not None:
                    _signal_group(process, signal.SIGTERM)
                    kill_at = time.monotonic() + GRACE_S
            elif process.poll() is None and time.monotonic() > kill_at:
                _signal_group(process, signal.SIGKILL)
            elif process.poll() is not None and leave_at == float("inf"):
                # What the job left running holds the pipe open; what left its group may for ever.
                _signal_group(process, signal.SIGKILL)
                leave_at = time.monotonic() + LINGER_S
            elif time.monotonic() > leave_at:
                break
        while process.poll() is None and ending is None:  # it closed its output and goes on
            ending = watch.verdict()
            time.sleep(0.01)
    finally:
        pump.abandon()
    return ending


def _read(pipe: IO[bytes]) -> Iterator[list[str]]:
    splitter = Splitter()
    with pipe:
        while chunk := os.read(pipe.fileno(), 65536):
            yield splitter.feed(chunk)
    yield splitter.end()


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Leave nothing of the job behind, whatever happened to us."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _judge(code: int, ending: Reason | None, *, killed: bool) -> Reason:
    if ending is not None:
        return ending
    if code == 0:
        return Reason.DONE
    # The kernel's count is the whole machine's: only together with a SIGKILL is it this job's.
    if killed and code == -signal.SIGKILL:
        return Reason.OUT_OF_MEMORY
    return Reason.FAILED


def _kernel_kills() -> int:
    """Return how many processes the kernel has killed for memory since boot; 0 where unknown."""
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _exit(job: Job, reason: Reason, code: int | None, watch: Watch) -> Exit:
    return Exit(
        reason=reason,
        code=code,
        detail=_detail(job, reason, code),
        wall_s=watch.wall_s(),
        gpu=job.gpu and has_gpu(),
        image_id=None,
        base_digest=None,
    )


def _detail(job: Job, reason: Reason, code: int | None) -> str:
    detail = told(job, reason, code)
    if reason is Reason.FAILED and died_by(code) == "SIGKILL":
        detail += " A machine short of memory does that."
    return detail
