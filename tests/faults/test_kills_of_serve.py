"""The process that serves dies, alone or with its run or its stage, at a point drawn by lot."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from killable import Toy, ask, children, report, said, until

from containers.owner import Owner

FINAL = {"COMPLETED", "FAILED", "CRASHED"}
SERVE = """
import sys, time
from pathlib import Path
from flows import serving
serving.ENGINE = (sys.executable, "-m", "bench.rig.toy_engine")
served = serving.Serving(Path.cwd(), {sys.argv[1]: "toy"}, print, 2)
begun = False
while True:
    try:
        served.tick() if begun else served.reconcile()
        begun = True
    except serving.ApiFailed as error:
        print(error)
    time.sleep(0.1)
"""
WAITS = """
import os, time
print("asleep", flush=True)
while not os.path.exists({go!r}): time.sleep(0.02)
"""


class Served:
    """A deployment of the toy case, and who serves it."""

    def __init__(self, toy: Toy) -> None:
        self.toy, self.api = toy, toy.mother.environment
        flow = ask(self.api, "/flows/", {"name": "investigate"})["id"]
        made = {
            "name": toy.root.parent.name,
            "flow_id": flow,
            "entrypoint": "flows.served.examine",
            "parameters": {"case": "toy", "isolation": "process"},
            "enforce_parameter_schema": False,
        }
        self.deployment = ask(self.api, "/deployments/", made)["id"]
        self.serving: subprocess.Popen[bytes] | None = None

    def serve(self) -> None:
        words = [sys.executable, "-c", SERVE, self.deployment]
        site = {"DVC_SITE_CACHE_DIR": str(self.toy.root.parent / "site")}
        with (self.toy.root.parent / "serve.log").open("ab") as log:
            self.serving = subprocess.Popen(
                words, cwd=self.toy.root, env=self.api | site, stdout=log, stderr=log
            )

    def end(self) -> None:
        if self.serving is not None:
            self.serving.kill()
            self.serving.wait()
            self.serving = None

    def due(self) -> str:
        path = f"/deployments/{self.deployment}/create_flow_run"
        flow_run: str = ask(self.api, path, {"state": {"type": "SCHEDULED"}})["id"]
        return flow_run

    def retry(self, flow_run: str) -> None:
        """What the UI's button does."""
        state = {"type": "SCHEDULED", "name": "AwaitingRetry"}
        answer = ask(self.api, f"/flow_runs/{flow_run}/set_state", {"state": state})
        assert answer["status"] == "ACCEPT", answer

    def pid_of(self, flow_run: str) -> int:
        note = self.toy.root / f".assay/served/{flow_run}.json"
        owner = Owner.parse(json.loads(note.read_text())["owner"])
        assert owner is not None
        return owner.pid

    def ends(self, flow_run: str) -> dict[str, str]:
        """Wait until a flow run is over, in Prefect and here, and return its state."""
        log = self.toy.root.parent / "serve.log"

        def state() -> dict[str, str] | None:
            assert self.serving is None or self.serving.poll() is None, log.read_text()
            found: dict[str, str] = self.toy.flow_run(flow_run)["state"]
            return found if found["type"] in FINAL else None

        found: dict[str, str] = until(state)
        note = self.toy.root / f".assay/served/{flow_run}.json"
        until(lambda: self.serving is None or not note.exists())
        return found


@pytest.fixture
def served(toy: Toy) -> Iterator[Served]:
    made = Served(toy)
    made.serve()
    yield made
    made.end()


@pytest.mark.parametrize("whom", ["serving", "serving and flow", "serving and stage"])
def test_who_serves_is_killed(served: Served, tmp_path: Path, whom: str) -> None:
    toy, go, dice = served.toy, tmp_path / "go", random.Random(whom)  # noqa: S311
    struck = dice.choice(("parity", "diagnose", "report"))
    toy.state(**{struck: WAITS.format(go=str(go))})
    flow_run = served.due()
    until(lambda: [log for log in toy.root.glob(f".assay/logs/*/{struck}.log") if log.read_text()])
    flow = served.pid_of(flow_run)
    [stage] = until(lambda: children(flow, "job.json"))
    time.sleep(dice.random())
    served.end()
    if "flow" in whom:
        os.kill(flow, signal.SIGKILL)
    if "stage" in whom:
        stage.kill()
    go.touch()
    if whom == "serving":  # its run does not need it
        assert served.ends(flow_run)["name"] == "Gate open"
    served.serve()
    state = served.ends(flow_run)
    until(toy.is_tidy)
    until(lambda: not list(toy.root.glob(".assay/debts/*")))  # the guard is done
    until(lambda: not psutil.pid_exists(stage.pid))
    if whom != "serving":
        told = {"serving and flow": "without a word", "serving and stage": "SIGKILL"}[whom]
        assert state["type"] == ("CRASHED" if "flow" in whom else "FAILED")
        assert told in state["message"]
        served.retry(flow_run)
        assert served.ends(flow_run)["name"] == "Gate open"
        last, first = toy.records()
        assert first.state == "failed"
        finished = [stage.name for stage in first.stages if stage.how == "ran"]
        assert {stage.name for stage in last.stages if stage.how == "restored"} == set(finished)
        assert "split" in finished
    assert report(toy) == said()
    assert toy.is_tidy()
