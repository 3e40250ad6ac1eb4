"""`assay run` over a workspace whose case is a toy, in processes that tests may kill."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import psutil

from bench.rig import toy_case
from bench.rig.toy_mother import Mother, Started
from containers.engine import Client
from containers.reap import label_of
from lineage import run_tags

PATIENCE_S = 400.0
BUSY = 503
SLEEP = "import time; print('asleep', flush=True); time.sleep(97)"


def until(what: Callable[[], Any], limit_s: float = PATIENCE_S) -> Any:
    """Wait until something is so, and return it."""
    give_up = time.monotonic() + limit_s
    while not (found := what()):
        assert time.monotonic() < give_up, f"it never came: {what}"
        time.sleep(0.02)
    return found


class Toy:
    """A workspace of four tiny stages: split, parity, diagnose, report."""

    def __init__(self, root: Path, mother: Mother, client: Client | None) -> None:
        self.root, self.mother, self.client = root, mother, client

    def state(self, case: str = "toy", **code: str) -> None:
        """Say what stages do before their work."""
        toy_case.state(self.root, case=case, **code)

    def start(self, case: str = "toy", isolation: str = "process", **more: Any) -> Started:
        words = ("run", case, "--isolation", isolation, "--json")
        return self.mother.start(self.root, *words, **more)

    def run(
        self, case: str = "toy", isolation: str = "process", status: int = 0, **more: Any
    ) -> Any:
        """Run to the end and return the answer."""
        started = self.start(case, isolation, **more)
        assert started.wait() == status, started.err + started.out
        return started.answer

    def asleep(self, stage: str = "parity", code: str = SLEEP, **how: Any) -> Started:
        """Start a run and return once a stage of it sleeps."""
        self.state(**{stage: code})
        started = self.start(**how)
        folder = self.root / ".assay/logs"
        before = {path for path in folder.glob(f"*/{stage}.log") if path.stat().st_size}
        until(
            lambda: (
                {path for path in folder.glob(f"*/{stage}.log") if path.stat().st_size} - before
                or started.ended.is_set()
            )
        )
        assert not started.ended.is_set(), started.err
        return started

    def containers(self, **filters: Any) -> list[dict[str, Any]]:
        """Return this workspace's containers, whatever their state."""
        assert self.client is not None
        label = [f"assay.workspace={label_of(self.root)}"]
        found: list[dict[str, Any]] = self.client.containers(
            all=True, filters={"label": label, **filters}
        )
        return found

    def records(self) -> list[Any]:
        """Return the runs with their stages, newest first."""
        return [run_tags.read_run(self.root, one.id) for one in run_tags.list_runs(self.root)]

    def flow_run(self, flow_run_id: str, **more: str) -> Any:
        """Return what Prefect's server knows of a run."""
        return ask(self.mother.environment | more, f"/flow_runs/{flow_run_id}")

    def stage_of(self, record: Any, name: str) -> Any:
        return next(stage for stage in record.stages if stage.name == name)

    def is_tidy(self) -> bool:
        """Tell that no run, worktree or container is left."""
        folders = [*self.root.glob(".assay/runs/*"), *self.root.glob(".assay/making/*")]
        worktrees = toy_case.git(self.root, "worktree", "list").count("\n")
        return not folders and not worktrees and not (self.client and self.containers())

    def lock(self, record: Any) -> str:
        return toy_case.git(self.root, "show", f"run/{record.id}:cases/{record.case}/dvc.lock")


def ask(environment: Mapping[str, str], path: str, body: Any = None) -> Any:
    """Call a Prefect server's API; one that has too much to do is asked again."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = Request(environment["PREFECT_API_URL"] + path, data, headers)  # noqa: S310

    def answer() -> list[Any]:
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=30) as told:
                return [json.loads(told.read())]
        except HTTPError as error:
            with error:
                if error.code != BUSY:
                    raise
            return []

    return until(answer)[0]


def children(pid: int, word: str) -> list[psutil.Process]:
    """Return a process's children whose command holds a word."""
    try:
        found = psutil.Process(pid).children()
        return [one for one in found if word in " ".join(one.cmdline())]
    except psutil.NoSuchProcess:
        return []


def report(toy: Toy, run_id: str = "latest", case: str = "toy") -> Any:
    """Return what the last stage of a run says, out of the cache."""
    from lineage import runs

    path = runs.open_artifact(toy.root, run_id, f"cases/{case}/artifacts/report/report.json")
    return json.loads(path.read_text(encoding="utf-8"))["diagnose"]["verdict"]


def said(case: str = "toy") -> str:
    """Return what it must say."""
    return f"parity of split of raw data of {case} and split of raw data of {case}"
