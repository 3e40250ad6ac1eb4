"""What a runner is asked to do and what it answers; both runners speak it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

IsolationKind = Literal["docker", "process"]

ROOT = "/work"
"""Where a job's files stand inside a container; in a process, a sandbox folder takes its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One file or folder that the job sees, read-only unless said otherwise."""

    source: Path  # on the host, absolute
    target: str  # posix, relative to the job's root
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One stage's process, wherever it runs.

    The working directory is the job's root; the only writable places are the writable mounts and
    /tmp.
    """

    name: str  # a container name is a fence: two live jobs never share one
    image: str  # a family (base, contracts, torch, onnx) or a full image reference
    command: tuple[str, ...]  # "python" as the first word means the image's (or host's) interpreter
    mounts: tuple[Mount, ...]
    log: Path  # every line of stdout and stderr is appended here, whole lines only
    threads: int
    memory_bytes: int
    timeout_s: float
    gpu: bool = False  # wanted, not required: the host may have none
    environment: Mapping[str, str] = field(default_factory=dict)  # added to a scrubbed environment
    labels: Mapping[str, str] = field(default_factory=dict)


class Reason(StrEnum):
    """Why a job ended; each is told apart from the others."""

    DONE = "done"
    FAILED = "failed"  # the stage's own non-zero status
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    ENGINE_GONE = "engine_gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a job ended and where it really ran."""

    reason: Reason
    code: int | None  # the process's status; None when it was never known
    detail: str  # one sentence for a person: what happened and the next step ("" when done)
    wall_s: float
    gpu: bool  # a GPU was really given
    image_id: str | None  # None in a process
    base_digest: (
        str | None
    )  # its registry's digest, of a family that of its base; None: none has it


class RunnerError(Exception):
    """The job could not be started; the message names the place and the next step."""

    exit_status = 2  # of the command line, which asks every error for it


class Runner(Protocol):
    """Starts a job and waits for it."""

    kind: IsolationKind

    def environment_key(self, image: str) -> str:
        """Return `docker:<build key>` or `process:<lock hash, python, platform>`."""
        ...

    def run(self, job: Job, *, on_line: Callable[[str], None], cancel: threading.Event) -> Exit:
        """Run to the end, the deadline or the cancel event; never raises for how the job ended.

        Raises:
            RunnerError: the job could not be started (no engine, no image, label differs from key).
        """
        ...
