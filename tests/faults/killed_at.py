"""Advances the toy stages and dies by SIGKILL at one named point of the second one's recording."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [
    str(Path(__file__).parent),
    str(Path(__file__).parents[1] / "lineage"),
    str(Path(__file__).parents[2]),
]

from toy_run import advance, begin, engine_of, logs_of  # noqa: E402
from toy_workspace import FakeRunner  # noqa: E402

from lineage import atomic, engine, execute, lock_text  # noqa: E402
from lineage.dvc_repo import DvcRepo  # noqa: E402
from lineage.engine import Engine  # noqa: E402


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Armed:
    """Counts to the second stage: the first one's recording goes well."""

    def __init__(self, holder: Any, name: str, *, before: bool, where: Callable[..., bool]) -> None:
        self.real = getattr(holder, name)
        self.left, self.before, self.where = 1, before, where
        armed = self

        def call(*args: Any, **more: Any) -> Any:
            return armed(*args, **more)

        setattr(holder, name, call)  # a function, so that it is bound like the real one

    def __call__(self, *args: Any, **more: Any) -> Any:
        mine = self.where(*args)
        now, self.left = mine and self.left == 0, self.left - mine
        if now and self.before:
            die()
        made = self.real(*args, **more)
        if now:
            die()
        return made


def _fsync(part: str) -> tuple[Any, str, dict[str, Any]]:
    """In the middle of an atomic write: the temporary file is whole, and not yet in place."""

    def is_it(handle: int) -> bool:
        name = str(Path(f"/proc/self/fd/{handle}").readlink())
        return part in name and "journal" not in name

    return atomic.os, "fsync", {"before": True, "where": is_it}


def _any(*_args: Any) -> bool:
    return True


def _journal(path: Path, *_args: Any) -> bool:
    return "journal" in str(path)


POINTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "renamed": (execute, "swap", {"before": False, "where": _any}),
    "in the cache": (DvcRepo, "store", {"before": False, "where": _any}),
    "in the run cache": (DvcRepo, "write_lock", {"before": True, "where": _any}),
    "amid the run cache's file": _fsync("/cache/runs/"),
    "amid dvc.lock": _fsync("/.dvc.lock."),
    "before the journal": (lock_text.atomic, "write", {"before": True, "where": _journal}),
    "recorded": (engine.Engine, "_note", {"before": True, "where": _any}),
}


def main(workspace: Path, point: str, where: str) -> None:
    if where == "worktree":
        run = begin(workspace)
        one = engine_of(run)
    else:
        one = Engine(workspace, runner=FakeRunner(), run_id="here", logs=logs_of(workspace, "here"))
    holder, name, how = POINTS[point]
    Armed(holder, name, **how)
    advance(one)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
