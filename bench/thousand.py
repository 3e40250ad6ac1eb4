"""What do 10, 100 and 1000 runs cost: to trace a hash, to list them, to keep them in git?"""

import os
import subprocess
import tempfile
from pathlib import Path

from bench.rig import clone
from bench.rig.clock import spend
from bench.rig.clone import Clone
from bench.rig.figures import Figure, median
from bench.rig.history import History, git
from lineage.run_index import FILE

CASE = "digits"
STATED_SIZES = os.environ.get("ASSAY_BENCH_RUNS")  # fewer, to try it
SIZES = tuple(map(int, STATED_SIZES.split())) if STATED_SIZES else (10, 100, 1000)
ROUNDS = 3
MB = 10**6
START = """
import sys
from pathlib import Path
from flows import looks_ledger
from lineage import runs
root = Path(sys.argv[1])
runs.reconcile(root)
records = runs.list_runs(root)
looks_ledger.counted(records[0], records)
"""
"""What `assay run` does of all runs, beside its own work."""


def run() -> list[Figure]:
    """Grow one repository to each size and measure whole processes at it."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        place = clone.make(Path(folder) / "clone")
        empty = _git_bytes(place.root)
        history = History(place.root, CASE)
        for size in SIZES:
            history.grow(size)
            figures += _measure(place, history, size, empty)
        figures += _packed(place, history, empty)
    return figures


def _measure(place: Clone, history: History, size: int, empty: int) -> list[Figure]:
    middle = history.ids[size // 2]
    record = git(place.root, "show", f"run/{middle}:cases/{CASE}/run.json")
    lock = git(place.root, "show", f"run/{middle}:cases/{CASE}/dvc.lock").decode()
    md5 = lock.rpartition("md5: ")[2][:36]
    (place.root / FILE).unlink(missing_ok=True)
    what = f"{size} runs"
    found = [
        median(f"{what}, a record", "kB", [len(record) / 1000]),
        median(f"{what}, .git unpacked", "MB", [(_git_bytes(place.root) - empty) / MB]),
        _wall(place, f"{what}, assay lineage HASH, index built", 1, "lineage", md5),
    ]
    bound = "<= 1" if size <= 1000 else None
    trace = _wall(place, f"{what}, assay lineage HASH", ROUNDS, "lineage", md5, target=bound)
    found += [
        trace,
        _wall(place, f"{what}, assay lineage RUN", ROUNDS, "lineage", middle, target=bound),
        _wall(
            place,
            f"{what}, assay lineage of code that all read",
            ROUNDS,
            "lineage",
            "assay/__init__.py",
            target=bound,
        ),
        _wall(place, f"{what}, assay status", ROUNDS, "status"),
        _wall(place, f"{what}, assay diff", ROUNDS, "diff", "latest", middle),
        _start(place, what),
        median(f"{what}, the index", "MB", [(place.root / FILE).stat().st_size / MB]),
    ]
    by_hand = [_by_hand(place, md5) for _ in range(2)]
    found += [
        median(f"{what}, by hand: git log -S HASH", "s", by_hand),
        median(f"{what}, by hand / assay lineage", "x", [min(by_hand) / trace.value]),
    ]
    return found


def _wall(place: Clone, name: str, rounds: int, *words: str, target: str | None = None) -> Figure:
    spent = [
        spend(["assay", *words, "--json"], place.root, place.environment) for _ in range(rounds)
    ]
    assert all(one.status == 0 for one in spent), f"assay {words}: {spent[0].stdout}"
    return median(f"{name}, CPU", "s", [one.cpu_s for one in spent], target)


def _start(place: Clone, what: str) -> Figure:
    words = ["python", "-c", START, str(place.root)]
    spent = [spend(words, place.root, place.environment) for _ in range(ROUNDS)]
    assert all(one.status == 0 for one in spent)
    return median(f"{what}, what a run reads of them, CPU", "s", [one.cpu_s for one in spent])


def _by_hand(place: Clone, md5: str) -> float:
    """Find the commits whose lock came to name a hash: what a person can do with git alone."""
    words = ["git", "log", "--all", "--format=%H", "-S", md5, "--", f"cases/{CASE}/dvc.lock"]
    spent = spend(words, place.root, place.environment)
    assert spent.stdout.strip(), f"git found nothing: {words}"
    return spent.cpu_s


def _packed(place: Clone, history: History, empty: int) -> list[Figure]:
    """Pack what the largest history holds, as `git gc` does, and look again."""
    size = len(history.ids)
    spent = spend(["git", "gc", "-q"], place.root, place.environment)
    (place.root / FILE).unlink(missing_ok=True)
    middle = history.ids[size // 2]
    return [
        median(f"{size} runs, git gc, CPU", "s", [spent.cpu_s]),
        median(f"{size} runs, .git packed", "MB", [(_git_bytes(place.root) - empty) / MB]),
        _wall(place, f"{size} runs packed, assay lineage RUN, index built", 1, "lineage", middle),
        _wall(place, f"{size} runs packed, assay status", ROUNDS, "status"),
    ]


def _git_bytes(root: Path) -> int:
    """Return what .git takes on the disk, in whole blocks, as `du` says."""
    said = subprocess.run(
        ["du", "-sk", str(root / ".git")], capture_output=True, text=True, check=True
    ).stdout
    return int(said.split()[0]) * 1024
