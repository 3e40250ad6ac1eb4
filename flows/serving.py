"""`assay serve` at work: starts what is due, each run in a process of its own, and what was missed.

Prefect's own runner ends its runs when it ends, and ends itself when the server is away for three
polls. Here a run outlives both: it is another process, known by a file, and found again.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from containers.owner import Owner, started
from flows import deploy_claims, flow_states
from flows.deploy_event import Deploy, NotADeploy, told_events
from flows.investigation import Say
from flows.prefect_api import ApiFailed, call
from lineage import atomic
from lineage.run_tags import tag_exists

ENGINE = (sys.executable, "-m", "prefect.engine")
"""What Prefect's own workers start: it runs the flow run that PREFECT__FLOW_RUN_ID names."""
FLOWS = {True: "flows.reproduction.reproduction", False: "flows.served.examine"}
"""By PREFECT__FLOW_ENTRYPOINT: else the server's deployment would say which code runs here."""

TICK_S = 1.0
SWEEP_S = 20.0  # between two looks for events that started nothing
PATIENCE_S = 15.0  # for the server's own trigger, before an event counts as missed
ATTEMPTS = 3  # flow runs of one event, where each died without a word
GRACE_S = 30.0  # from being told to stop to being ended
FINAL = {"COMPLETED", "FAILED", "CANCELLED", "CRASHED"}
OPEN = ["RUNNING", "PENDING", "CANCELLING"]


@dataclass(slots=True)
class Serving:
    """The flow runs of this workspace's deployments: `tick` is called again and again."""

    workspace: Path
    deployments: Mapping[str, str]  # id -> case, or `reproduce` and the case
    say: Say
    limit: int
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _swept: float = 0.0
    _told: dict[str, float] = field(default_factory=dict)  # flow run -> when it was told to stop
    _refused: set[str] = field(default_factory=set)

    def tick(self) -> None:
        """Do once what there is to do.

        Raises:
            ApiFailed: the server is away; all of it is done by a later tick.
        """
        self._watch()
        for run in self._due():
            if len(self._notes()) >= self.limit:
                break
            self._start(run)
        if time.monotonic() - self._swept > SWEEP_S:
            self.sweep()
            self._swept = time.monotonic()

    def reconcile(self) -> None:
        """Close what died while nobody looked: after a reboot nothing stays Running for ever."""
        flow_states.settle(self.workspace)  # first: what is known of their ends is more
        for run in self._flow_runs(OPEN):
            if self._note(run["id"]).exists():
                continue  # `_watch` sees to it
            kind = run["state"]["type"]
            if kind == "PENDING":  # it never began: its event or its hour is not lost
                self._set(run["id"], "SCHEDULED", "Scheduled", "It had not begun.")
            else:
                self._close(run["id"], kind)
        for run in self._by_command():
            self._close(run["id"], run["state"]["type"])
        self._watch()

    def _by_command(self) -> list[dict[str, Any]]:
        """Return what `assay run` left open in Prefect: runs whose tag says that they ended."""
        asked = {
            "flows": {"name": {"any_": ["investigate"]}},
            "flow_runs": {
                "state": {"type": {"any_": OPEN}},
                "deployment_id": {"is_null_": True},
            },
        }
        found: list[dict[str, Any]] = call("/flow_runs/filter", {**asked, "limit": 200})
        # It is named after its case and its run; its tag is made once the flow has ended.
        return [one for one in found if self._has_ended(one["name"].rpartition(" ")[2])]

    def _has_ended(self, run_id: str) -> bool:
        fits = re.fullmatch(r"[0-9]{8}T[0-9]{6}-[a-z0-9-]+", run_id)
        return fits is not None and tag_exists(self.workspace, run_id)

    def sweep(self) -> None:
        """Start what an event should have: it came while nobody listened, or its run died."""
        flow_states.settle(self.workspace)
        now = datetime.now(UTC)
        runs: dict[str, list[dict[str, Any]]] = {}
        for run in self._flow_runs(None):
            if (told := self._deploy(run["parameters"])) is not None:
                runs.setdefault(told.id, []).append(run)
        ids = {case: deployment for deployment, case in self.deployments.items()}
        for occurred, payload in told_events(now):
            deploy = self._deploy(payload)
            if deploy is None or deploy.case not in ids:
                self._refuse(payload)
            elif _is_missed(self.workspace, deploy, runs.get(deploy.id, []), occurred, now):
                number = len(runs.get(deploy.id, []))
                self._schedule(ids[deploy.case], deploy, f"{deploy.id}/{number}")

    def _deploy(self, told: Any) -> Deploy | None:
        try:
            return Deploy.of(told)
        except NotADeploy:
            return None

    def _refuse(self, payload: Any) -> None:
        told = json.dumps(payload, sort_keys=True)[:300]
        if told not in self._refused:
            self._refused.add(told)
            try:
                case = Deploy.of(payload).case
                self.say(f"a deploy event names no case that is served here: {case}")
            except NotADeploy as error:
                self.say(f"it starts nothing: {error}")

    def _schedule(self, deployment: str, deploy: Deploy, key: str) -> None:
        told = {"case": deploy.case, "model": deploy.model}
        told |= {"digest": deploy.digest, "commit": deploy.commit}
        made = call(
            f"/deployments/{deployment}/create_flow_run",
            {"parameters": told, "idempotency_key": key, "state": {"type": "SCHEDULED"}},
        )
        self.say(f"{deploy.case}: event {deploy.id} is taken up: flow run {made['name']}")

    def _due(self) -> list[dict[str, Any]]:
        asked = {
            "deployment_ids": list(self.deployments),
            "scheduled_before": datetime.now(UTC).isoformat(),
            "limit": 50,
        }
        due: list[dict[str, Any]] = call("/deployments/get_scheduled_flow_runs", asked)
        due.sort(key=lambda run: str(run["expected_start_time"]))
        timed = [run for run in due if run["auto_scheduled"] and not _is_retried(run)]
        last = {run["deployment_id"]: run["id"] for run in timed}
        found = []
        for run in due:
            if run in timed and last[run["deployment_id"]] != run["id"]:
                # Hours that passed while nobody served: one examination makes up for all of them.
                self._set(run["id"], "CANCELLED", "Skipped", "A later hour has come.")
            elif not self._note(run["id"]).exists():
                found.append(run)
        return found

    def _start(self, run: dict[str, Any]) -> None:
        """Start one flow run in a session of its own: no signal of ours reaches it by chance."""
        answer = self._set(run["id"], "PENDING", "Pending", "", force=False)
        if answer["status"] != "ACCEPT":
            return
        # Before it starts: should this process die meanwhile, the next one knows of it.
        self._write(run["id"], Owner.me())
        told = {
            "PREFECT__FLOW_RUN_ID": run["id"],
            "PREFECT__FLOW_ENTRYPOINT": FLOWS[self._repeats(run["deployment_id"])],
        }
        log = self.workspace / ".assay/serve.log"
        with log.open("ab") as said:
            child = subprocess.Popen(
                ENGINE,
                cwd=self.workspace,
                env=os.environ | told,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        own = replace(Owner.me(), pid=child.pid, started=started(child.pid) or "")
        self._write(run["id"], own)
        self.children[run["id"]] = child
        self.say(f"{self.deployments[run['deployment_id']]}: flow run {run['name']} started")

    def _repeats(self, deployment: str) -> bool:
        return self.deployments[deployment].startswith("reproduce ")

    def _watch(self) -> None:
        """End what a person cancelled, and close what ended without a word."""
        for flow_run_id, child in list(self.children.items()):
            if child.poll() is not None:  # else it stays as a zombie
                del self.children[flow_run_id]
        for note in self._notes():
            try:
                self._look_after(note)
            except ApiFailed as error:
                if error.status != 404:  # noqa: PLR2004  a person deleted it
                    raise
                note.unlink()

    def _look_after(self, note: Path) -> None:
        owner = _owner(note)
        lives = owner is not None and not owner.is_dead()
        if not lives:
            flow_states.settle(self.workspace)  # the server may not have heard how it ended
        run = call(f"/flow_runs/{note.stem}")
        kind = run["state"]["type"]
        if owner and lives:
            if kind == "CANCELLING":
                self._cancel(note.stem, owner.pid)
            return
        if kind not in FINAL and kind != "SCHEDULED":
            self._close(note.stem, kind)
        ended = call(f"/flow_runs/{note.stem}")["state"]
        self.say(f"flow run {run['name']}: {ended['name']}. {ended['message'] or ''}")
        self._told.pop(note.stem, None)
        note.unlink()

    def _cancel(self, flow_run_id: str, pid: int) -> None:
        """Tell a run to stop; its stages are given some seconds before it is ended."""
        first = flow_run_id not in self._told
        told = self._told.setdefault(flow_run_id, time.monotonic())
        late = time.monotonic() - told > GRACE_S
        if first or late:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)

    def _close(self, flow_run_id: str, kind: str) -> None:
        if kind == "CANCELLING":
            self._set(flow_run_id, "CANCELLED", "Cancelled", "It was cancelled.")
        else:
            self._set(flow_run_id, "CRASHED", "Crashed", "Its process ended without a word.")

    def _set(
        self, flow_run_id: str, kind: str, name: str, message: str, *, force: bool = True
    ) -> dict[str, Any]:
        state = {"type": kind, "name": name, "message": message}
        body = {"state": state, "force": force}
        answer: dict[str, Any] = call(f"/flow_runs/{flow_run_id}/set_state", body)
        return answer

    def _flow_runs(self, kinds: list[str] | None) -> list[dict[str, Any]]:
        """Return this week's flow runs of these deployments, in some states or in all."""
        since = (datetime.now(UTC) - timedelta(days=8)).isoformat()
        wanted: dict[str, Any] = {"expected_start_time": {"after_": since}}
        if kinds:
            wanted = {"state": {"type": {"any_": kinds}}}
        asked = {
            "deployments": {"id": {"any_": list(self.deployments)}},
            "flow_runs": wanted,
            "sort": "EXPECTED_START_TIME_DESC",
        }
        found: list[dict[str, Any]] = []
        while True:
            page = call("/flow_runs/filter", {**asked, "limit": 200, "offset": len(found)})
            found += page
            if len(page) < 200:  # noqa: PLR2004  the limit above
                return found

    def under_way(self) -> list[str]:
        """Return the flow runs that go on without this process."""
        return [note.stem for note in self._notes()]

    def _write(self, flow_run_id: str, owner: Owner) -> None:
        atomic.write(self._note(flow_run_id), json.dumps({"owner": str(owner)}))

    def _note(self, flow_run_id: str) -> Path:
        return self.workspace / ".assay/served" / f"{flow_run_id}.json"

    def _notes(self) -> list[Path]:
        return sorted((self.workspace / ".assay/served").glob("*.json"))


def _owner(note: Path) -> Owner | None:
    """Read who runs a flow run; nobody, where a power cut or a person left something else there."""
    try:
        return Owner.parse(json.loads(note.read_text(encoding="utf-8"))["owner"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _is_retried(run: dict[str, Any]) -> bool:
    return bool(run["state"]["name"] == "AwaitingRetry")  # a person wants this very one


def _is_missed(
    workspace: Path, deploy: Deploy, runs: list[dict[str, Any]], occurred: str, now: datetime
) -> bool:
    """Tell whether an event has no answer and nothing under way that could bring one."""
    if (now - datetime.fromisoformat(occurred)).total_seconds() < PATIENCE_S:
        return False
    kinds = {run["state"]["type"] for run in runs}
    if kinds - FINAL or "CANCELLED" in kinds or len(runs) >= ATTEMPTS:
        return False  # under way; a person did not want it; it dies again and again
    claim = deploy_claims.read(workspace, deploy.id)
    if claim is None:  # its file is gone, as by `git clean`: the server knows of an answer
        return "COMPLETED" not in kinds
    return claim.is_open()
