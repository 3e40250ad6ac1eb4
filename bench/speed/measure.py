"""How many CPU seconds, and how much memory, does each number take here and elsewhere?"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.rig.figures import Figure, median, read
from bench.speed.environments import ENVIRONMENTS, ROOT, python_of
from bench.speed.tasks import TASKS, Peer, Task, make

MB = 10**6
STORED = ROOT / "bench" / "results" / "speed.json"
WANTED = os.environ.get("ASSAY_BENCH_TASKS")  # words that names contain, joined by `;`; others stay
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one call took in a process of its own, and what it made."""

    cpu_s: float
    added_bytes: int  # the peak of its memory over what stood there before
    value: dict[str, Any]


def run() -> list[Figure]:
    """Let all contestants of each task take turns on the same rows."""
    words = WANTED.split(";") if WANTED else [""]
    known = read(STORED) if WANTED and STORED.exists() else []
    found: list[Figure] = []
    for task in TASKS:
        if any(word in task.name for word in words):
            found += _task(task)
        else:
            found += kept(task, known)
    return found


def kept(task: Task, known: Sequence[Figure]) -> list[Figure]:
    """Return what an earlier run found of a task that is not measured anew."""
    starts = (f"{task.name}, {task.shape[0]}", f"{task.name}: ")
    return [figure for figure in known if figure.figure.startswith(starts)]


def _task(task: Task) -> list[Figure]:
    left, right, given = make(task)
    words = {"given": given, "repeats": task.repeats}
    pythons = {peer.function: _python(peer) for peer in task.peers}
    turns: dict[str, list[Turn]] = {}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder) / "rows.npz"
        np.savez(data, left=left, right=right)
        for _ in range(task.rounds):  # in turn, so that a busy spell meets all alike
            for function in task.ours.values():
                turn = take_turn(Path(sys.executable), "bench.speed.ours", function, data, words)
                turns.setdefault(function, []).append(turn)
            for function, python in pythons.items():
                turn = take_turn(python, "peers", function, data, words)
                turns.setdefault(function, []).append(turn)
    return figures(task, turns)


def _python(peer: Peer) -> Path:
    return Path(sys.executable) if peer.environment is None else python_of(peer.environment)


def take_turn(python: Path, module: str, function: str, data: Path, words: Any) -> Turn:
    """Run one contestant in a process of its own, with one thread."""
    here = Path(__file__).resolve().parent
    command = [str(python), str(here / "contestant.py"), module, function, str(data)]
    done = subprocess.run(
        [*command, json.dumps(words)],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT) if "." in module else ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{module}.{function} failed: {said[-1]}")
    return read_turn(done.stdout)


def read_turn(printed: str) -> Turn:
    """Read a contestant's line, the last that it printed."""
    lines = printed.strip().splitlines()
    if not lines:
        raise ValueError("A contestant printed nothing; its last line is to be its turn as JSON.")
    return Turn(**json.loads(lines[-1]))


def figures(task: Task, turns: dict[str, list[Turn]]) -> list[Figure]:
    """Return the costs of all contestants, then each pair beside what was promised."""
    size = f"{task.shape[0]}+{task.shape[0]} x {task.shape[1]}"
    found: list[Figure] = []
    names = {function: f"ours{said and f' ({said})'}" for said, function in task.ours.items()}
    names |= {peer.function: _named(peer) for peer in task.peers}
    for function, name in names.items():
        seen = turns[function]
        found += [
            median(f"{task.name}, {size}: {name}, CPU", "s", [turn.cpu_s for turn in seen]),
            median(
                f"{task.name}, {size}: {name}, memory added",
                "MB",
                [turn.added_bytes / MB for turn in seen],
            ),
        ]
    for said, function in task.ours.items():
        for peer in task.peers:
            pair = f"{task.name}: {peer.name} over ours{said and f' ({said})'}"
            found += _pair(task, pair, turns[function], turns[peer.function])
    return found


def _named(peer: Peer) -> str:
    if peer.environment is None:
        return peer.name
    return f"{peer.name} {ENVIRONMENTS[peer.environment].version(peer.package)}"


def _pair(task: Task, pair: str, ours: Sequence[Turn], theirs: Sequence[Turn]) -> list[Figure]:
    both = list(zip(ours, theirs, strict=True))
    gains = [their.cpu_s / our.cpu_s for our, their in both]
    shares = [max(our.added_bytes, 1) / max(their.added_bytes, 1) for our, their in both]
    largest = [difference(our.value, their.value, task.compared) for our, their in both]
    return [
        median(f"{pair}, CPU", "x", gains, task.ratio),
        median(f"{pair}, memory of ours", "of theirs", shares, task.memory),
        median(f"{pair}, largest difference ({task.compared})", "relative", largest, task.differs),
    ]


def difference(ours: Any, theirs: Any, key: str) -> float:
    """Return the largest difference over the largest size of what both made."""
    mine, other = (np.atleast_1d(np.array(one[key], dtype=np.float64)) for one in (ours, theirs))
    return float(np.abs(mine - other).max() / np.abs(other).max())
