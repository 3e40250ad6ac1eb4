"""Does any death lose or falsify anything? Hundreds of runs, killed at seeded points, and resumed.

    python -m bench soak --runs 200 --seed 0 --shard 1/4

A shard keeps its workspace and a line a run under `--work`, and goes on where it was stopped. The
one that completes the set writes `bench/results/soak.json`. Each run changes one stage of a toy
case, is killed as its seed says, and then the same command resumes it; `bench.rig.soak_check` looks
at the workspace after both.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

import psutil

from bench.rig import figures, machine, soak_check, soak_kills, soak_times, toy_case
from bench.rig.figures import Figure, Skipped, median
from bench.rig.soak_kills import Kill
from bench.rig.toy_mother import Mother, become, import_all
from containers import images
from containers.engine import connect, faults
from containers.job import RunnerError
from containers.reap import label_of

HERE: Final = Path(__file__).resolve().parent
RESULTS: Final = HERE / "results/soak.json"
WORK: Final = HERE.parent / ".assay/bench/soak"
DOCKER_EVERY: Final = 5
LIMIT_S: Final = 1200.0
"""A run that takes longer hangs: it is ended, and counted as not finished."""
QUIET_S: Final = 20.0
"""How long what was killed may take to be cleared away by the guard."""


def run() -> list[Figure]:
    """Say what the shards found; a soak takes longer than all other benchmarks together."""
    raise Skipped("A soak has shards: python -m bench soak --runs 200 --seed 0 --shard 1/4")


def main(words: list[str]) -> int:
    """Run one shard; 1 when anything was lost, wrong or left behind."""
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", default="1/1", help="K/N: each N-th run, from the K-th on")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--times", action="store_true", help="only how long cancels and reaps take")
    told = parser.parse_args(words)
    at, of = map(int, told.shard.split("/"))
    if not 1 <= at <= of:
        parser.error(f"a shard is K/N with K from 1 to N. Got: {told.shard}.")
    work = (told.work / f"seed-{told.seed}").resolve()
    if told.times:
        return _times(_Shard(work / "times", told.seed, work / "none"))
    mine = range(at - 1, told.runs, of)
    lines = work / f"shard-{at}-of-{of}.jsonl"
    done = {one["number"] for one in _read(work.glob("shard-*.jsonl"))}
    left = [number for number in mine if number not in done]
    if left:
        _Shard(work / f"shard-{at}-of-{of}", told.seed, lines).go(left)
    found = {one["number"]: one for one in _read(sorted(work.glob("shard-*.jsonl")))}
    whole = [found[number] for number in range(told.runs) if number in found]
    summary = _figures(whole, told.runs) if whole else []
    print(figures.table(summary))
    if len(whole) == told.runs:
        summary += [one for one in _stored() if soak_times.is_time(one)]
        figures.write(RESULTS, machine.describe() | {"seed": told.seed}, summary)
    return int(any(one.is_met() is False for one in summary if one.target == "<= 0"))


def _times(shard: "_Shard") -> int:
    """Measure how long cancels and reaps take, and put that beside the figures of the soak."""
    found = soak_times.figures(shard.times())
    print(figures.table(found))
    others = [one for one in _stored() if not soak_times.is_time(one)]
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["machine"] if others else {}
    figures.write(RESULTS, known or machine.describe(), [*others, *found])
    return int(any(one.is_met() is False for one in found))


def _stored() -> list[Figure]:
    return figures.read(RESULTS) if RESULTS.exists() else []


def _read(files: Iterable[Path]) -> list[dict[str, Any]]:
    found = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            with suppress(ValueError):  # the soak itself may have been killed
                found.append(json.loads(line))
    return found


class _Shard:
    """A workspace of its own, a server, and this process as the mother of its runs.

    Runs are forks of it: what they would import for two seconds of CPU is there already.
    """

    def __init__(self, place: Path, seed: int, lines: Path) -> None:
        self.seed, self.lines = seed, lines
        self.root, self.scratch = place / "workspace", place / "tmp"
        self.scratch.mkdir(parents=True, exist_ok=True)
        if not (self.root / ".git").exists():
            toy_case.make(self.root)
        self.known: dict[str, str] = {}
        self.seen: set[str] = set()
        # What a run takes here, as the last whole one of its kind did.
        self.whole_s = {"process": 3.0, "docker": 8.0}
        os.environ.pop("PREFECT_API_URL", None)
        os.environ |= toy_case.environment(self.root, None) | {"TMPDIR": str(self.scratch)}

    def go(self, numbers: list[int]) -> None:
        from flows import server

        try:
            self._import(server)
            for number in numbers:
                found = self._one(number)
                with self.lines.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
                told = {key: it for key, it in found.items() if it and key != "left"}
                print(json.dumps(told), flush=True)
        finally:
            server.stop(self.root)

    def times(self) -> dict[str, list[float]]:
        """Measure how long cancels and reaps take, in containers."""
        from flows import server

        api = server.ensure(self.root, print)
        os.environ |= server.environment(api, self.root)
        client = connect()
        images.verify(client, ["base"])
        mother = Mother(self.scratch, toy_case.environment(self.root, api))
        try:
            return soak_times.measure(self.root, mother, client)
        finally:
            mother.close()
            server.stop(self.root)

    def _import(self, server: Any) -> None:
        server.START_LIMIT_S = 900  # beside another soak, on a machine with other things to do
        api = server.ensure(self.root, print)
        os.environ |= server.environment(api, self.root)
        import_all()
        self.server = server
        try:
            self.client = connect()
            images.verify(self.client, ["base"])
        except RunnerError as error:
            print(f"no run in containers: {error}", file=sys.stderr)
            self.client = None

    def _one(self, number: int) -> dict[str, Any]:
        kill, dice = soak_kills.draw(self.seed, number), random.Random(number)  # noqa: S311
        boxed = self.client is not None and number % DOCKER_EVERY == DOCKER_EVERY - 1
        isolation = "docker" if boxed else "process"
        self._change(number, dice, kill)
        began = time.monotonic()
        status, lasted_s, struck = self._run(kill, isolation)
        lost, kept = self._lost(), len(self.known)
        self._ensure_server()
        again, resumed_s, _ = self._run(Kill(), isolation)
        self.whole_s[isolation] = resumed_s
        lost += self._lost()
        _, wrong = soak_check.wrong_records(self.root, self.seen)
        wrong += self._wrong_answer(again)
        left = self._left()
        return {
            "number": number,
            "kill": kill.told(),
            "kind": kill.point or kill.whom,
            "struck": struck,
            "isolation": isolation,
            "status": status,
            "killed_after_s": round(lasted_s, 2),
            "resumed": again,
            "resumed_s": round(resumed_s, 2),
            "objects": kept,
            "lost": lost,
            "wrong": wrong,
            "left": left,
            "running": self._running(),
            "took_s": round(time.monotonic() - began, 1),
        }

    def _change(self, number: int, dice: random.Random, kill: Kill) -> None:
        """Give the run something to do: mostly other data, so that all stages make new objects."""
        # Who is to die while outputs are restored must have some.
        restores = kill.point == soak_kills.RESTORED
        stage = toy_case.NAMES[-1] if restores else dice.choice(toy_case.NAMES)
        pause = "import time; time.sleep(0.2)" if dice.random() < 0.5 else ""
        toy_case.state(self.root, **{stage: f"{pause}\n# {self.seed}/{number}"})
        if not restores and dice.random() < 0.7:
            text = f"data {self.seed}/{number}"
            (self.root / f"cases/{toy_case.CASE}/data.txt").write_text(text, encoding="utf-8")

    def _run(self, kill: Kill, isolation: str) -> tuple[int, float, bool]:
        """Fork a run and do to it what its fate says.

        Returns:
            Its exit status (-9 when killed), how long it took, and whether its fate struck.
        """
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _child(self.root, kill, isolation)
        told = not kill.whom
        while True:
            pid, code = os.waitpid(child, os.WNOHANG)
            passed_s = time.monotonic() - began
            if pid:
                status = os.waitstatus_to_exitcode(code)
                struck = told if kill.whom else bool(kill.point) and status == -signal.SIGKILL
                return status, passed_s, struck
            if not told and passed_s >= kill.share * self.whole_s[isolation]:
                told = self._strike(kill.whom, child, isolation)
            if passed_s > LIMIT_S:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return 124, passed_s, told
            time.sleep(0.01)

    def _strike(self, whom: str, child: int, isolation: str) -> bool:
        """Kill; False when the victim is not there yet."""
        if whom == "told to stop":
            os.kill(child, signal.SIGTERM)
            return True
        if whom == "server":
            known = os.environ.pop("PREFECT_API_URL")  # given, it would be somebody else's
            found = self.server.status(self.root)
            os.environ["PREFECT_API_URL"] = known
            os.killpg(os.getpgid(found.pid), signal.SIGKILL)
            return True
        wanted = whom.split(" and ")
        stages, guards = _of(child)
        boxes = self._boxes() if isolation == "docker" else []
        if ("stage" in wanted and not stages + boxes) or ("guard" in wanted and not guards):
            return False
        victims = (stages if "stage" in wanted else []) + (guards if "guard" in wanted else [])
        for pid in [*([child] if "flow" in wanted else []), *victims]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for box in boxes if "stage" in wanted else ():
            with suppress(*faults()):  # it has just ended
                self.client.kill(box, "SIGKILL")
        return True

    def _boxes(self) -> list[str]:
        """Return the workspace's containers that run."""
        labels = [f"assay.workspace={label_of(self.root)}"]
        return [one["Id"] for one in self.client.containers(filters={"label": labels})]

    def _lost(self) -> list[str]:
        """Hash the whole cache; returns what was there and is not, and what is damaged."""
        cache = self.root / ".dvc/cache"
        now = soak_check.objects(cache)
        lost = [f"{name}: {fault}" for name, fault in now.items() if fault]
        lost += [f"{name}: gone" for name in self.known if name not in now]
        lost += [f"{name}: recorded, not there" for name in soak_check.committed(cache) - set(now)]
        self.known |= now
        return lost

    def _ensure_server(self) -> None:
        os.environ.pop("PREFECT_API_URL", None)
        api = self.server.ensure(self.root, lambda _line: None)
        os.environ |= self.server.environment(api, self.root)

    def _wrong_answer(self, status: int) -> list[str]:
        """Hold the last run's answer against what the stages must say."""
        from lineage import runs

        if status != 0:
            return []
        path = runs.open_artifact(self.root, "latest", toy_case.REPORT)
        data = (self.root / f"cases/{toy_case.CASE}/data.txt").read_text(encoding="utf-8")
        said = json.loads(path.read_text(encoding="utf-8"))["diagnose"]["verdict"]
        wanted = f"parity of split of {data} and split of {data}"
        return [] if said == wanted else [f"the report says {said!r}, not {wanted!r}"]

    def _left(self) -> dict[str, list[str]]:
        give_up = time.monotonic() + QUIET_S
        while True:
            left = soak_check.left_over(self.root, self.scratch, self.client)
            if not any(left.values()) or time.monotonic() > give_up:
                return {kind: them for kind, them in left.items() if them}
            time.sleep(0.2)

    def _running(self) -> list[str]:
        """Return the flow runs that the server holds to be running, now that none is."""
        from flows.prefect_api import call

        states = {"state": {"type": {"any_": ["RUNNING", "CANCELLING"]}}}
        # A starved machine is none of a run's faults.
        found = call("/flow_runs/filter", {"flow_runs": states}, timeout_s=300.0)
        return [one["name"] for one in found]


def _child(root: Path, kill: Kill, isolation: str) -> NoReturn:
    """Be `assay run toy`, in a session of its own."""
    os.setsid()
    log = os.open(root.parent / "run.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.pop("PREFECT_API_URL")
    become(root, ["run", toy_case.CASE, "--isolation", isolation, "--json"], kill)


def _of(child: int) -> tuple[list[int], list[int]]:
    """Return a run's stages and its guard."""
    stages, guards = [], []
    with suppress(psutil.Error):
        for process in psutil.Process(child).children():
            with suppress(psutil.Error):
                words = process.cmdline()
                if "job.json" in words:
                    stages.append(process.pid)
                if "assay-guard" in words:
                    guards.append(process.pid)
    return stages, guards


def _figures(found: list[dict[str, Any]], wanted: int) -> list[Figure]:
    def count(name: str, of: Callable[[dict[str, Any]], int]) -> Figure:
        total = sum(map(of, found))
        return Figure(figure=name, value=total, unit="", target="<= 0", n=len(found))

    left = [
        count(f"{kind} left behind", lambda one, kind=kind: len(one["left"].get(kind, ())))
        for kind in ("containers", "worktrees", "locks", "temporary files", "processes")
    ]
    finished = sum(one["resumed"] == 0 for one in found)
    killed = sum(one["status"] not in {0, 1} for one in found)
    boxed = sum(one["isolation"] == "docker" for one in found)
    return [
        Figure(figure="runs finished", value=finished, unit="", target=f">= {wanted}"),
        Figure(figure="of them killed or stopped first", value=killed, unit=""),
        Figure(figure="of them in containers", value=boxed, unit=""),
        count("artifacts lost", lambda one: len(one["lost"])),
        count("wrong lineage records", lambda one: len(one["wrong"])),
        *left,
        count("flow runs still Running", lambda one: len(one["running"])),
        median("a resumed run, wall", "s", [one["resumed_s"] for one in found]),
        *_kills(found),
    ]


def _kills(found: list[dict[str, Any]]) -> list[Figure]:
    """Return how often each kind of death was died, of how many times that it was drawn."""
    drawn = Counter(one["kind"] for one in found)
    struck = Counter(one["kind"] for one in found if one["struck"])
    named = {point: f"killed where {point}" for point in sorted(soak_kills.POINTS)}
    named |= {
        whom: whom if whom == "told to stop" else f"killed from outside: {whom}"
        for whom in soak_kills.FROM_OUTSIDE
    }
    return [
        Figure(figure=told, value=struck[kind], unit="", n=drawn[kind])
        for kind, told in named.items()
    ]
