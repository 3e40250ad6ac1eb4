"""A folder that looks to a process as its root looks to a container."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from containers.job import Mount, RunnerError
from containers.scratch import scratch

GUARD = '''"""Makes the project's own sources importable from the sandbox alone."""
import os
import sys

_hidden = {hidden!r}
sys.path[:] = [p for p in sys.path if not (p and os.path.realpath(p) == _hidden)]
'''
"""A sitecustomize, since it runs in every interpreter of the job, children too, after the `.pth`
files by which an editable install puts the repository on the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The folders of one job."""

    root: Path  # links to the mounts; the working directory
    scratch: Path  # HOME and TMPDIR
    guard: Path  # what PYTHONPATH begins with


@contextmanager
def sandbox(mounts: Iterable[Mount], *, hidden: Path) -> Iterator[Sandbox]:
    """Make a sandbox of links, and remove it after; what the links point to stays.

    Args:
        mounts: as `layout.lay_out` returns them, none inside another.
        hidden: the folder whose place on `sys.path` is taken away.
    """
    with scratch() as top:
        yield _filled(top, mounts, hidden)


def _filled(top: Path, mounts: Iterable[Mount], hidden: Path) -> Sandbox:
    made = Sandbox(root=top / "work", scratch=top / "tmp", guard=top / "guard")
    try:
        for folder in (made.root, made.scratch, made.guard):
            folder.mkdir()
        guard = GUARD.format(hidden=str(hidden.resolve()))
        (made.guard / "sitecustomize.py").write_text(guard, encoding="utf-8")
        for mount in mounts:
            place = made.root / mount.target
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(mount.source)
    except OSError as error:
        raise RunnerError(
            f"The sandbox {top} could not be made: {error}. See that its disk has space."
        ) from error
    return made
