"""Who stays when a run's process is killed: ends what it left running, and closes the run.

A shell of a megabyte waits at the end of a pipe. It ends with the run, or becomes `python -m
flows.guard` when the pipe is cut with no word, however its process died. Killed with it, or after
a reboot, the next start does the same.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from containers.owner import Owner
from containers.reap import reap

SCRIPT: Final = 'read -r _ && exit 0; exec "$@"'
DEAD_S: Final = 5.0
"""How long the kernel may need to bury a process whose pipe is cut already."""
CANCEL_S: Final = 60
"""For a child's stages to end before it is killed."""
END_CHILD: Final = f"""
read -r child && [ "$child" != done ] || exit 0
read -r _ && exit 0
kill -s TERM -- "-$child"
left={CANCEL_S}
while kill -s 0 -- "-$child" && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
kill -s KILL -- "-$child"
"""


@contextmanager
def guarded(workspace: Path) -> Iterator[None]:
    """Have somebody clear away after this process, should it be killed within."""
    read, write = os.pipe()
    source = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    words = (sys.executable, "-m", "flows.guard", str(workspace), str(Owner.me()))
    try:
        guard = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "assay-guard", *words],
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=workspace,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # what ends the run's group or its terminal spares it
        )
    finally:
        os.close(read)
    try:
        yield
    finally:
        _tell(write, "done")
        os.close(write)
        guard.wait()


@contextmanager
def ends_with_me() -> Iterator[Callable[[int], None]]:
    """Have a child's process group ended after this process, should it be killed within.

    Yields what is to be told the child's pid: it leads a session of its own.
    """
    read, write = os.pipe()
    try:
        guard = subprocess.Popen(
            ["/bin/sh", "-c", END_CHILD, "assay-guard"],
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(read)
    try:
        yield lambda child: _tell(write, str(child))
    finally:
        _tell(write, "done")
        os.close(write)
        guard.wait()


def _tell(pipe: int, line: str) -> None:
    with suppress(BrokenPipeError):
        os.write(pipe, f"{line}\n".encode())


def main(workspace: Path, whose: str) -> None:
    """Clear away after a dead process: its containers first, which may hold memory or a GPU."""
    owner, give_up = Owner.parse(whose), time.monotonic() + DEAD_S
    while owner is not None and not owner.is_dead() and time.monotonic() < give_up:
        time.sleep(0.01)
    reap(workspace)
    from flows.flow_states import settle
    from lineage import runs

    runs.reconcile(workspace)
    settle(workspace)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
