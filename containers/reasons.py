"""How did it end? The words for a person, and which of several causes of one status it was."""

import signal

from containers.job import Job, Reason

SHELL_SIGNAL_BASE = 128  # an engine reports death by signal n as 128 + n


def died_by(code: int | None) -> str | None:
    """Return the signal that a status stands for (137 in a container, -9 in a process), or None."""
    if code is None or 0 <= code <= SHELL_SIGNAL_BASE:
        return None
    try:
        return signal.Signals(-code if code < 0 else code - SHELL_SIGNAL_BASE).name
    except ValueError:
        return None  # a program's own status


def told(job: Job, reason: Reason, code: int | None) -> str:
    """Return one sentence: what happened and the next step; "" when done."""
    if reason is Reason.DONE:
        return ""
    by = died_by(code)
    child = "" if by == "SIGKILL" else " in a child process"
    sentences = {
        Reason.CANCELLED: "was cancelled; run again to resume.",
        Reason.TIMED_OUT: f"passed its limit of {job.timeout_s:g} s; raise it, or see why.",
        Reason.OUT_OF_MEMORY: (
            f"ran out of memory{child} (asked for {job.memory_bytes / 2**30:.3g} GiB); raise it."
        ),
        Reason.ENGINE_GONE: (
            "was lost: the engine stopped answering, or someone removed the container. See that "
            "it runs (`docker info`), then run again."
        ),
        Reason.FAILED: (
            f"was ended by {by}, which assay did not send." if by else f"ended with status {code}."
        ),
    }
    return f"{job.name} {sentences[reason]} Its log is {job.log}."
