"""Who stays when a run's process is killed: ends what it left running, and closes the run.

A shell of a megabyte waits at the end of a pipe. It ends with the run, or becomes `python -m
flows.guard` when the pipe is cut with no word, however its process died. Killed with it, or after
a reboot, the next start does the same.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from containers.owner import Owner
from containers.reap import reap

SCRIPT: Final = 'read -r _ && exit 0; exec "$@"'
DEAD_S: Final = 5.0
"""How long the kernel may need to bury a process whose pipe is cut already."""


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
        with suppress(BrokenPipeError):
            os.write(write, b"done\n")
        os.close(write)
        guard.wait()


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
