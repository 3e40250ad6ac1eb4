"""How long until a cancelled or crashed run's containers are dead, a deaf stage inside."""

import json
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psutil

from bench.rig import toy_case
from bench.rig.figures import Figure, median
from bench.rig.toy_mother import Mother, Started
from containers.reap import label_of
from flows.prefect_api import call

ROUNDS: Final = 10
SAYS: Final = "containers dead: "
DEAF: Final = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('asleep', flush=True); "
    "time.sleep(300)"
)
LIMIT_S: Final = 120.0
Way = Callable[[Path, Mother, Started], Started]
TARGETS: Final = {
    "cancelled by Ctrl-C twice": "<= 10",
    "cancelled by SIGTERM": "<= 10",
    "cancelled in Prefect": "<= 10",
    "crashed, reaped by its guard": "<= 2",
    "crashed with its guard, reaped by the next start": "<= 2",
}


def measure(root: Path, mother: Mother, client: Any) -> dict[str, list[float]]:
    """Return the seconds of each kind, from the deed to the last container's end."""
    ways: dict[str, Way] = {
        "cancelled by Ctrl-C twice": _interrupted,
        "cancelled by SIGTERM": _told,
        "cancelled in Prefect": _in_prefect,
        "crashed, reaped by its guard": _killed,
        "crashed with its guard, reaped by the next start": _both_killed,
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    toy_case.state(root, parity=DEAF)
    for number in range(ROUNDS * len(ways)):
        name = list(ways)[number % len(ways)]
        found[name].append(_one(ways[name], root, mother, client))
        print(json.dumps({name: round(found[name][-1], 2)}), flush=True)
    return found


def _one(way: Way, root: Path, mother: Mother, client: Any) -> float:
    """Start a run, end it in one way, and return how long its container outlived that."""
    run = mother.start(root, "run", toy_case.CASE, "--isolation", "docker")
    _until(lambda: _is_asleep(root, run))
    before, dead = _running(root, client), set(root.glob(".assay/runs/*"))
    if way is _both_killed:
        _kill_both(run.pid)
    began = time.monotonic()
    last = way(root, mother, run)
    _until(lambda: not before & _running(root, client))
    took_s = time.monotonic() - began
    if last is not run:  # the next start goes on to the deaf stage as well
        _until(lambda: _is_asleep(root, last, dead))
        last.signal(signal.SIGTERM)
    for one in (run, last):
        one.wait()
    _until(lambda: not list(root.glob(".assay/runs/*")))
    return took_s


def is_time(figure: Figure) -> bool:
    """Tell a figure that `figures` made."""
    return figure.figure.startswith(SAYS)


def figures(found: dict[str, list[float]]) -> list[Figure]:
    """Return the medians, each beside its target."""
    return [
        median(f"{SAYS}{name}", "s", seconds, TARGETS[name])
        for name, seconds in found.items()
        if seconds
    ]


def _told(_root: Path, _mother: Mother, run: Started) -> Started:
    run.signal(signal.SIGTERM)
    return run


def _interrupted(_root: Path, _mother: Mother, run: Started) -> Started:
    """Press Ctrl-C for the second time; the clock starts at the first."""
    run.signal(signal.SIGINT)
    _until(lambda: "once more: cancel" in run.err)
    run.signal(signal.SIGINT)
    return run


def _in_prefect(root: Path, _mother: Mother, run: Started) -> Started:
    [folder] = root.glob(".assay/runs/*")
    flow_run = (folder / "flow_run").read_text(encoding="utf-8")
    state = {"type": "CANCELLING", "name": "Cancelling"}
    call(f"/flow_runs/{flow_run}/set_state", {"state": state})
    return run


def _killed(_root: Path, _mother: Mother, run: Started) -> Started:
    run.signal(signal.SIGKILL)
    return run


def _both_killed(root: Path, mother: Mother, _run: Started) -> Started:
    return mother.start(root, "run", toy_case.CASE, "--isolation", "docker")


def _kill_both(pid: int) -> None:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for child in process.children():
            child.kill()
        process.kill()
        psutil.wait_procs([process], 10)


def _is_asleep(root: Path, run: Started, dead: Collection[Path] = ()) -> bool:
    if run.ended.is_set():
        raise RuntimeError(f"the run ended early: {run.err[-600:]}")
    folders = sorted({*root.glob(".assay/runs/*")}.difference(dead))
    logs = [root / ".assay/logs" / folder.name / "parity.log" for folder in folders]
    return any(log.exists() and "asleep" in log.read_text(encoding="utf-8") for log in logs)


def _running(root: Path, client: Any) -> set[str]:
    label = [f"assay.workspace={label_of(root)}"]
    return {one["Id"] for one in client.containers(filters={"label": label})}


def _until(what: Callable[[], bool]) -> None:
    give_up = time.monotonic() + LIMIT_S
    while not what():
        if time.monotonic() > give_up:
            raise TimeoutError("a container or a run does not end")
        time.sleep(0.01)
