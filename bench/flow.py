"""What does `assay run digits` take: the first time, and when nothing has changed?"""

import json
import tempfile
from pathlib import Path
from typing import Any

import psutil

from bench.rig import clone
from bench.rig.clock import Spent, spend
from bench.rig.clone import Clone
from bench.rig.figures import Figure, Skipped, median

CASE = "digits"
CACHED_ROUNDS = 9
MB = 10**6


def run() -> list[Figure]:
    if not Path("/proc/self/stat").exists():
        raise Skipped("The stages' own CPU is read from /proc, which this system has not.")
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        place = clone.make(Path(folder) / "clone")
        started = spend(["assay", "server", "start"], place.root, place.environment)
        try:
            server = psutil.Process(place.assay("server", "status")["pid"])
            return [
                median("starting the server, wall", "s", [started.wall_s]),
                median("starting the server, its CPU", "s", [_cpu_s(server)]),
                *_first(place, server),
                *_cached(place, server),
            ]
        finally:
            place.assay("server", "stop")


def _first(place: Clone, server: psutil.Process) -> list[Figure]:
    stages: dict[str, float] = {}
    before_s = _cpu_s(server)
    spent, answer = _investigate(place, stages)
    assert set(answer["stages"].values()) == {"ran"}, answer["stages"]
    server_s = _cpu_s(server) - before_s
    what = f"{CASE} from empty caches"
    found = [
        median(f"{what}, CPU of the run and its stages", "s", [spent.cpu_s], "<= 120"),
        median(f"{what}, CPU of the server meanwhile", "s", [server_s]),
        median(f"{what}, wall", "s", [spent.wall_s]),
        median("flow process, peak memory", "MB", [spent.peak_rss_bytes / MB], "<= 500"),
        median("flow process, CPU less its stages", "s", [spent.cpu_s - sum(stages.values())]),
    ]
    record = json.loads(place.call("git", "show", f"run/{answer['run']}:cases/{CASE}/run.json"))
    for stage in record["stages"]:
        name, inside = stage["name"], stage["inside"]
        cpu_s = inside.get("cpu_s") or stages.get(name, 0.0)
        found += [
            median(f"{name}, CPU", "s", [cpu_s]),
            median(f"{name}, peak memory", "MB", [inside["peak_rss_bytes"] / MB]),
        ]
    return found


def _cached(place: Clone, server: psutil.Process) -> list[Figure]:
    walls, cpus, servers = [], [], []
    for number in range(CACHED_ROUNDS + 1):
        before_s = _cpu_s(server)
        spent, answer = _investigate(place, None)
        assert "ran" not in answer["stages"].values(), answer["stages"]
        if number:
            walls.append(spent.wall_s)
            cpus.append(spent.cpu_s)
            servers.append(_cpu_s(server) - before_s)
    what = f"{CASE} all from the cache, server up"
    return [
        median(f"{what}, wall", "s", walls, "<= 5"),
        median(f"{what}, CPU of the run", "s", cpus),
        median(f"{what}, CPU of the server meanwhile", "s", servers),
    ]


def _investigate(place: Clone, stages: dict[str, float] | None) -> tuple[Spent, Any]:
    watch = None if stages is None else (lambda pid: _note_stages(pid, stages))
    words = ["assay", "run", CASE, "--isolation", "process", "--json"]
    spent = spend(words, place.root, place.environment, watch=watch)
    assert spent.status in {0, 1}, f"assay run ended with {spent.status}: {spent.stdout}"
    return spent, json.loads(spent.stdout)


def _note_stages(flow_pid: int, stages: dict[str, float]) -> None:
    """Read how much CPU each living stage has used; the last reading is at most 0.05 s too old."""
    try:
        children = psutil.Process(flow_pid).children()
    except psutil.Error:
        return
    for child in children:
        try:
            if "job.json" not in child.cmdline():
                continue
            job = json.loads((Path(child.cwd()) / "job.json").read_text(encoding="utf-8"))
            stages[job["name"]] = sum(child.cpu_times())
        except (psutil.Error, OSError, ValueError):
            continue  # it has just ended


def _cpu_s(server: psutil.Process) -> float:
    found = [server, *server.children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in found)
