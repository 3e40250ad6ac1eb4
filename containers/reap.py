"""What a killed run left running is ended by the next one, in containers and in processes."""

from hashlib import sha256
from pathlib import Path
from typing import Final

from containers import docker_fence, engine, process_fence, scratch
from containers.docker_fence import WORKSPACE_LABEL
from containers.job import RunnerError

__all__ = ["LOGS", "WORKSPACE_LABEL", "label_of", "reap"]

LOGS: Final = ".assay/logs"
"""Where a workspace's jobs keep their logs, and beside them their fences."""

KNOCK_S: Final = 0.15
CALL_S: Final = 10
"""Nobody waits for this: an engine that is slow is left to the next time."""


def label_of(workspace: Path) -> str:
    """Return the value of the label `assay.workspace` of a workspace's jobs."""
    return sha256(str(workspace.resolve()).encode()).hexdigest()[:16]


def reap(workspace: Path) -> list[str]:
    """End a workspace's jobs whose owners are dead; returns their names.

    Without an engine, or with one that fails, only processes are looked for.
    """
    ended = process_fence.reap(workspace / LOGS)
    scratch.sweep()
    try:
        client = engine.connect(knock_s=KNOCK_S, call_s=CALL_S)
    except RunnerError:
        return ended
    try:
        return [*ended, *docker_fence.reap(client, label_of(workspace))]
    except engine.faults():
        return ended
    finally:
        client.close()
