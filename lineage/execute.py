"""Run one stage in its runner and put its outputs in place: whole, or not at all."""

import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from containers.job import Exit, Job, Reason, Runner
from containers.reap import WORKSPACE_LABEL, label_of
from lineage import disk
from lineage.fence import fence
from lineage.job_folder import JobFolder, fill, job_folder
from lineage.row import Row
from lineage.staging import BadOutput, check, swap, swap_back, take_note

if TYPE_CHECKING:
    from lineage.provenance import Provenance


RUNS = ".assay/runs"
"""Where a workspace keeps its runs; the worktree of each is `<id>/tree`."""

TAIL_BYTES = 4096
"""How much of a log's end is looked at for why a stage failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A stage's process has ended well."""

    exit: Exit
    inside: dict[str, Any] | None
    error: dict[str, Any] | None
    log: Path
    log_sha256: str


class StageFailed(Exception):  # noqa: N818 - reads as the fact that it is
    """A stage did not end well; the message is the one clear error."""

    exit_status = 3

    def __init__(self, row: Row, executed: Executed, full: str = "") -> None:
        self.row = row.name
        self.exit = executed.exit
        self.error = executed.error
        self.executed = executed
        self.provenance: Provenance | None = None  # the engine adds it
        super().__init__(_message(row, executed, full))


_WORDS = {
    Reason.DONE: "ended well, but its outputs cannot be used",
    Reason.FAILED: "failed",
    Reason.OUT_OF_MEMORY: "ran out of memory",
    Reason.TIMED_OUT: "ran past its time limit",
    Reason.CANCELLED: "was cancelled",
    Reason.ENGINE_GONE: "lost its container engine",
}


def _message(row: Row, executed: Executed, full: str) -> str:
    said = (executed.error or {}).get("message")
    if isinstance(said, str) and said.strip():
        return f"{said} {full}".strip()
    told = executed.exit.detail or f"Status {executed.exit.code}."
    if str(executed.log) not in told:
        told += f" Its log is {executed.log}."
    return f"{row.name} {_WORDS[executed.exit.reason]}. {told} {full}".strip()


def _full(executed: Executed, staging: Path) -> str:
    """Say which disk was full, where that is what a stage complains of; else nothing."""
    said = str((executed.error or {}).get("message")) + _tail(executed.log)
    if disk.is_full(staging):
        return f"The disk of {staging.parent} is full. {disk.make_room(staging)}"
    if executed.exit.reason is Reason.DONE or not disk.is_about_room(said):
        return ""
    room = f"{staging.parent} has {disk.free_bytes(staging) / 2**20:.1f} MiB free"
    if executed.exit.image_id is None:
        return f"{room}; make room in {tempfile.gettempdir()}, where it keeps what is temporary."
    return (
        f"{room}; /tmp in its container holds half of its memory, at most 1 GiB. Write to the "
        "folder of an output instead, or raise `memory` in the stage's needs."
    )


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")


def execute(
    row: Row,
    root: Path,
    runner: Runner,
    *,
    run_id: str,
    on_line: Callable[[str], None],
    cancel: threading.Event,
    logs: Path,
) -> Executed:
    """Run a stage and swap its outputs into place; what `dvc repro` reaches through `assay stage`.

    Raises:
        StageFailed: it did not end well; the former outputs stand as they were.
        InputMissing: an input is not there.
        RunnerError: it could not be started.
    """
    with stage_fence(row, root, on_line, cancel), job_folder(row, root) as folder:
        executed = run_job(
            row,
            root,
            runner,
            folder,
            run_id=run_id,
            on_line=on_line,
            cancel=cancel,
            logs=logs,
        )
        with accepted(row, root, folder):
            return executed


def stage_fence(
    row: Row, root: Path, on_line: Callable[[str], None], cancel: threading.Event
) -> Any:
    """Return the fence of one stage in one worktree."""
    path = root / ".assay/locks" / f"{row.case}-{row.name}.lock"
    waiting = f"waiting for another process that runs {row.name} here"
    return fence(path, on_wait=lambda: on_line(waiting), cancel=cancel)


def run_job(
    row: Row,
    root: Path,
    runner: Runner,
    folder: JobFolder,
    *,
    run_id: str,
    on_line: Callable[[str], None],
    cancel: threading.Event,
    logs: Path,
) -> Executed:
    """Run a stage into its job folder and check what it wrote; the outputs are not yet in place.

    Raises:
        StageFailed: it did not end well, or wrote what cannot be an output.
    """
    log = logs / f"{row.name}.log"
    logs.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    workspace = label_of(workspace_of(root))
    # By the workspace too: `dvc repro` has one run id in every clone.
    name = f"assay-{workspace[:8]}-{run_id}-{row.case}-{row.name}"
    job = Job(
        name=re.sub(r"[^A-Za-z0-9_.-]", "-", name),
        image=row.image,
        command=("python", "-m", row.entry, "job.json"),
        mounts=fill(folder, row, root),
        log=log,
        threads=row.threads,
        memory_bytes=row.memory_bytes,
        timeout_s=row.timeout_s,
        gpu=row.gpu,
        labels={
            WORKSPACE_LABEL: workspace,
            "assay.run": run_id,
            "assay.case": row.case,
            "assay.stage": row.name,
        },
    )
    ended = runner.run(job, on_line=on_line, cancel=cancel)
    inside = take_note(folder.staging, "inside.json")
    error = take_note(folder.staging, "error.json")
    if ended.reason is Reason.DONE and error is None:
        try:
            check(row, folder.staging)
        except BadOutput as bad:
            error = {"kind": "outputs", "message": str(bad)}
    with log.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    executed = Executed(exit=ended, inside=inside, error=error, log=log, log_sha256=digest)
    if ended.reason is not Reason.DONE or error is not None:
        raise StageFailed(row, executed, _full(executed, folder.staging))
    return executed


def workspace_of(root: Path) -> Path:
    """Return the workspace of a run's worktree; any other root is a workspace itself."""
    return root.parents[3] if root.match(f"{RUNS}/*/tree") else root


@contextmanager
def accepted(row: Row, root: Path, folder: JobFolder) -> Iterator[None]:
    """Put checked outputs in place; the former ones come back if what follows fails."""
    swap(folder.staging, root / row.folder, folder.old)
    try:
        yield
    except BaseException:
        swap_back(root / row.folder, folder.old)
        raise
