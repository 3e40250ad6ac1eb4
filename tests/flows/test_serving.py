"""What `assay serve` starts, closes and makes up for, held to a server that only remembers."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from containers.owner import Owner
from flows import deploy_claims, deployments, serving
from flows.commands import serve
from flows.deploy_event import Deploy
from flows.prefect_api import ApiFailed
from flows.serving import Serving

DEPLOY = Deploy(case="toy", model="1", digest="sha256:" + "0" * 64, commit="a" * 40)
PARAMS = {"case": "toy", "model": "1", "digest": DEPLOY.digest, "commit": DEPLOY.commit}
LONG_AGO = (datetime.now(UTC) - timedelta(hours=1)).isoformat()


class Server:
    """Prefect's API as far as `serving` asks it."""

    def __init__(self) -> None:
        self.runs: dict[str, dict] = {}
        self.events: list[tuple[str, object]] = []
        self.created: list[dict] = []

    def add(self, key: str, kind: str, **other) -> None:
        self.runs[key] = {
            "id": key, "name": f"toy {key}", "deployment_id": "d1", "parameters": {},
            "state": {"type": kind, "name": kind, "message": ""}, "auto_scheduled": False,
            "expected_start_time": key,
        } | other  # fmt: skip

    def kind(self, name: str) -> str:
        return self.runs[name]["state"]["type"]

    def call(self, path: str, body=None, **_):
        parts = path.strip("/").split("/")
        if path == "/deployments/get_scheduled_flow_runs":
            return [run for run in self.runs.values() if run["state"]["type"] == "SCHEDULED"]
        if path == "/flow_runs/filter":
            return self._filtered(body)
        if parts[-1] == "create_flow_run":
            self.created.append(body)
            return {"name": "made"}
        if parts[1] not in self.runs:
            raise ApiFailed("no such flow run", 404)
        if parts[-1] == "set_state":
            self.runs[parts[1]]["state"] = body["state"]
            return {"status": "ACCEPT"}
        return self.runs[parts[1]]

    def _filtered(self, body: dict) -> list[dict]:
        if body.get("offset"):
            return []
        wanted = body["flow_runs"].get("state", {}).get("type", {}).get("any_")
        by_command = "deployment_id" in body["flow_runs"]
        return [
            run
            for run in self.runs.values()
            if (wanted is None or run["state"]["type"] in wanted)
            and (run["deployment_id"] is None) == by_command
        ]


@pytest.fixture
def api(monkeypatch) -> Server:
    made = Server()
    monkeypatch.setattr(serving, "call", made.call)
    monkeypatch.setattr(serving, "told_events", lambda _now: made.events)
    return made


@pytest.fixture
def served(tmp_path: Path, api, monkeypatch):
    (tmp_path / ".assay").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    wait = "import time; time.sleep(600)"
    monkeypatch.setattr(serving, "ENGINE", (sys.executable, "-c", wait))
    made = Serving(tmp_path, {"d1": "toy"}, [].append, 2)
    yield made
    for child in made.children.values():
        child.kill()
        child.wait()


def until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def note(served: Serving, name: str) -> Path:
    return served.workspace / f".assay/served/{name}.json"


def test_what_is_due_starts_as_a_process_of_its_own_and_no_more_than_the_limit(served, api):
    for name in "abc":
        api.add(name, "SCHEDULED")
    served.tick()
    assert [api.kind(name) for name in "abc"] == ["PENDING", "PENDING", "SCHEDULED"]
    child = served.children["a"]
    assert os.getsid(child.pid) == child.pid != os.getsid(0)
    assert Owner.parse(json.loads(note(served, "a").read_text())["owner"]).pid == child.pid
    environment = Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
    assert b"PREFECT__FLOW_RUN_ID=a" in environment
    # Else the deployment, which whoever may ask the server can alter, would say what code runs.
    assert b"PREFECT__FLOW_ENTRYPOINT=flows.served.examine" in environment
    child.kill()
    until(lambda: child.poll() is not None)
    served.tick()
    assert (api.kind("a"), api.kind("c")) == ("CRASHED", "PENDING")
    assert not note(served, "a").exists()


def test_one_that_ended_with_a_word_keeps_it(served, api):
    api.add("a", "SCHEDULED")
    served.tick()
    api.runs["a"]["state"] = {"type": "COMPLETED", "name": "Gate open", "message": ""}
    served.children["a"].kill()
    served.children["a"].wait()
    served.tick()
    assert api.runs["a"]["state"]["name"] == "Gate open"
    assert served.under_way() == []


def test_another_serve_finds_what_goes_on_and_does_not_start_it_twice(served, api):
    api.add("a", "SCHEDULED")
    served.tick()
    api.runs["a"]["state"] = {"type": "RUNNING", "name": "Running", "message": ""}
    other = Serving(served.workspace, {"d1": "toy"}, print, 2)
    other.reconcile()
    other.tick()
    assert api.kind("a") == "RUNNING"
    assert other.under_way() == ["a"]
    assert other.children == {}


def test_what_is_cancelled_is_told_once_and_ended_when_it_does_not_listen(served, api, monkeypatch):
    api.add("a", "SCHEDULED")
    served.tick()
    child, sent = served.children["a"], []
    api.runs["a"]["state"]["type"] = "CANCELLING"
    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
        served.tick()
        served.tick()
        assert sent == [(child.pid, signal.SIGTERM)]
        patched.setattr(serving, "GRACE_S", -1.0)
        served.tick()
        assert sent[-1] == (child.pid, signal.SIGKILL)
    child.kill()
    child.wait()
    served.tick()
    assert api.kind("a") == "CANCELLED"


def test_after_a_reboot_nothing_stays_open(served, api):
    api.add("ran", "RUNNING")
    api.add("began", "PENDING")
    api.add("cancelled", "CANCELLING")
    ended, goes_on = "20261201T060000-toy-ab12", "20261201T070000-toy-cd34"
    for run in (ended, goes_on):
        api.add(run, "RUNNING", name=f"toy {run}", deployment_id=None)
    root = served.workspace
    words = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(
        ["git", *words, "commit", "-q", "--allow-empty", "-m", "x"], cwd=root, check=True
    )
    subprocess.run(["git", "tag", f"run/{ended}"], cwd=root, check=True)
    served.reconcile()
    assert {name: api.kind(name) for name in api.runs} == {
        "ran": "CRASHED", "began": "SCHEDULED", "cancelled": "CANCELLED",
        ended: "CRASHED", goes_on: "RUNNING",
    }  # fmt: skip


def test_of_hours_that_nobody_served_the_last_is_made_up_for(served, api):
    for hour in ("06", "07", "08"):
        api.add(hour, "SCHEDULED", auto_scheduled=True)
    api.add("by hand", "SCHEDULED")
    served.tick()
    assert [api.runs[hour]["state"]["name"] for hour in ("06", "07")] == ["Skipped", "Skipped"]
    assert sorted(served.children) == ["08", "by hand"]


def test_a_flow_run_that_a_person_deleted_is_forgotten(served, api):
    api.add("a", "SCHEDULED")
    served.tick()
    del api.runs["a"]
    served.tick()
    assert served.under_way() == []


def claim(root: Path, *, ended: bool = False, dead: bool = False) -> None:
    known = deploy_claims.take(root, DEPLOY, "f")
    if ended:
        deploy_claims.ended(root, known)
    if dead:
        file = root / f".assay/deploys/{DEPLOY.id}.json"
        gone = str(Owner.me()).rpartition("|")[0] + "|0"
        file.write_text(json.dumps({**json.loads(file.read_text()), "owner": gone}))


@pytest.mark.parametrize(
    ("kinds", "claimed", "occurred", "number"),
    [
        pytest.param([], None, LONG_AGO, 1, id="it started nothing"),
        pytest.param([], None, None, 0, id="it is new"),
        pytest.param(["SCHEDULED"], None, LONG_AGO, 0, id="its flow run waits"),
        pytest.param(["CRASHED"], None, LONG_AGO, 1, id="its flow run died early"),
        pytest.param(["CRASHED"], {"dead": True}, LONG_AGO, 1, id="its run died"),
        pytest.param(["CRASHED"] * 3, {"dead": True}, LONG_AGO, 0, id="it dies each time"),
        pytest.param(["CANCELLED"], None, LONG_AGO, 0, id="a person did not want it"),
        pytest.param(
            ["COMPLETED"], {"ended": True, "dead": True}, LONG_AGO, 0, id="it is answered"
        ),
        pytest.param(["FAILED"], {"ended": True, "dead": True}, LONG_AGO, 0, id="its run failed"),
        pytest.param([], {}, LONG_AGO, 0, id="its run goes on"),
        pytest.param(["COMPLETED"], None, LONG_AGO, 0, id="it was answered, its claim is gone"),
    ],
)
def test_an_event_is_taken_up_if_nothing_answers_it(  # noqa: PLR0917
    served, api, kinds, claimed, occurred, number
):
    for at, kind in enumerate(kinds):
        api.add(f"f{at}", kind, parameters=PARAMS)
    if claimed is not None:
        claim(served.workspace, **claimed)
    api.events = [(occurred or datetime.now(UTC).isoformat(), PARAMS)]
    served.sweep()
    assert len(api.created) == number
    if number:
        assert api.created[0]["idempotency_key"] == f"{DEPLOY.id}/{len(kinds)}"
        assert api.created[0]["parameters"] == PARAMS


def test_an_event_that_can_start_nothing_is_told_once(tmp_path, api):
    said: list[str] = []
    served = Serving(tmp_path, {"d1": "toy"}, said.append, 2)
    api.events = [(LONG_AGO, PARAMS | {"case": "other"}), (LONG_AGO, PARAMS | {"digest": "x"})] * 2
    served.sweep()
    assert len(said) == 2
    assert "no case that is served here: other" in said[0]
    assert "digest: expected sha256" in said[1]
    assert api.created == []


def test_an_event_has_one_run_until_that_died_without_an_end(tmp_path):
    (tmp_path / ".assay").mkdir()
    claim = deploy_claims.take(tmp_path, DEPLOY, "one")
    assert deploy_claims.take(tmp_path, DEPLOY, "two") is None
    assert deploy_claims.take(tmp_path, DEPLOY, "one") is None  # it is under way
    deploy_claims.begun(tmp_path, claim, "a run")
    file = tmp_path / f".assay/deploys/{DEPLOY.id}.json"
    known = json.loads(file.read_text())
    dead = str(Owner.me()).rpartition("|")[0] + "|0"
    file.write_text(json.dumps({**known, "owner": dead}))
    other = deploy_claims.take(tmp_path, DEPLOY, "two")
    assert (other.flow_run_id, other.run) == ("two", None)
    deploy_claims.ended(tmp_path, deploy_claims.begun(tmp_path, other, "another run"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "owner": dead}))
    assert deploy_claims.take(tmp_path, DEPLOY, "three") is None
    assert deploy_claims.take(tmp_path, DEPLOY, "two") is not None  # a person retried it in the UI
    file.write_text("{")
    assert deploy_claims.read(tmp_path, DEPLOY.id) is None


def test_an_event_that_has_an_answer_is_asked_once_more_and_one_under_way_is_not(tmp_path):
    (tmp_path / ".assay").mkdir()
    claim = deploy_claims.take(tmp_path, DEPLOY, "one")
    with pytest.raises(deploy_claims.UnderWay, match="has not ended: wait for it"):
        deploy_claims.reopen(tmp_path, DEPLOY.id)
    deploy_claims.ended(tmp_path, claim, "its case had a fault")
    assert deploy_claims.take(tmp_path, DEPLOY, "two") is None
    deploy_claims.reopen(tmp_path, DEPLOY.id)
    assert deploy_claims.read(tmp_path, DEPLOY.id).is_open()
    again = deploy_claims.take(tmp_path, DEPLOY, "two")
    assert (again.run, again.ended, again.error) == (None, False, None)


def test_one_that_a_person_retried_is_not_skipped_for_a_later_hour(served, api):
    for hour in ("06", "07"):
        api.add(hour, "SCHEDULED", auto_scheduled=True)
    api.runs["06"]["state"]["name"] = "AwaitingRetry"
    served.tick()
    assert sorted(served.children) == ["06", "07"]


def test_a_flow_run_whose_start_the_server_lost_is_begun_once_it_answers(served, api, monkeypatch):
    """It took the state, and its answer was lost: nothing of ours says that it is to begin."""
    api.add("f1", "SCHEDULED")
    stop = threading.Event()

    def cut_off(path: str, body=None, **_):
        answer = api.call(path, body)
        if path == "/flow_runs/f1/set_state" and body["state"]["type"] == "PENDING":
            monkeypatch.setattr(serving, "call", api.call)
            raise ApiFailed("cut off", None)
        return answer

    monkeypatch.setattr(serving, "call", cut_off)
    monkeypatch.setattr(serve, "AGAIN_S", 0.01)
    begin = served._start
    monkeypatch.setattr(Serving, "_start", lambda self, run: started.append(run) or begin(run))
    started: list[dict] = []
    monkeypatch.setattr(serve, "TICK_S", 0.01)
    threading.Thread(
        target=lambda: (until(lambda: len(started) == 2), stop.set()), daemon=True
    ).start()
    serve._loop(served, stop, own=False)
    assert [run["id"] for run in started] == ["f1", "f1"]
    assert note(served, "f1").exists()


def test_a_case_that_another_workspace_of_the_server_serves_is_refused(tmp_path, monkeypatch):
    known = {"tags": ["assay", "workspace elsewhere:/srv/one"]}
    monkeypatch.setattr(deployments, "call", lambda _path: known)
    case = SimpleNamespace(name="toy")
    with pytest.raises(deployments.ServedElsewhere, match="workspace elsewhere:/srv/one"):
        deployments.put([case], tmp_path)
