"""Runs tasks in children of this process, a few at a time, each with a limit of time."""

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLL_S = 0.02
CPU_S = 60  # of one task; the wall clock says little on a busy machine
Task = tuple[str, Callable[[], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Child:
    name: str
    answer: Path
    last: float


def in_children(
    tasks: Iterable[Task], folder: Path, *, jobs: int, timeout_s: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, answer) as tasks end; {"broken": why} where one failed or took too long."""
    folder.mkdir(parents=True, exist_ok=True)
    left = iter(tasks)
    running: dict[int, _Child] = {}
    try:
        while True:
            while len(running) < jobs and (task := next(left, None)) is not None:
                child = _start(task, folder, timeout_s)
                running[child[0]] = child[1]
            if not running:
                return
            yield from _ended(running)
            time.sleep(POLL_S)
    finally:  # whoever stops listening stops them too
        for number in running:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)


def _start(task: Task, folder: Path, timeout_s: float) -> tuple[int, _Child]:
    name, work = task
    answer = folder / f"{os.getpid()}-{abs(hash(name))}.json"
    answer.unlink(missing_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        _be_the_child(work, answer)
    return number, _Child(name, answer, time.monotonic() + timeout_s)


def _be_the_child(work: Callable[[], dict[str, Any]], answer: Path) -> None:
    """Work, write the answer, and end without any handler of the parent's."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
    try:
        try:
            content = work()
        except Exception as error:  # noqa: BLE001  the parent tells it
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}, line {where.lineno}"
            content = {"broken": f"{type(error).__name__}: {error} ({place})"}
        answer.write_text(json.dumps(content), encoding="utf-8")
    finally:
        os._exit(0)


def _ended(running: dict[int, _Child]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, child in list(running.items()):
        if os.waitpid(number, os.WNOHANG)[0] == 0:
            if time.monotonic() < child.last:
                continue
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            del running[number]
            yield child.name, {"broken": "it took too long"}
            continue
        del running[number]
        if child.answer.exists():
            content = json.loads(child.answer.read_text(encoding="utf-8"))
            child.answer.unlink()
        else:
            content = {"broken": "its process ended without an answer"}
        yield child.name, content
