"""The flow by which `assay serve` examines a case: `assay run` with the UI's params."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows import deploy_claims, notify, whole_run, workspace
from flows.budget import stated
from flows.case import LoadedCase, load_case
from flows.deploy_event import Deploy
from flows.investigate import WORKERS, investigate
from flows.investigation import Investigation, Say, begin
from flows.server import ServerLost
from lineage import runs


@flow(
    name="investigate",
    flow_run_name="{case}",
    persist_result=False,
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
)
def examine(  # noqa: PLR0917  each is a field of the form in the UI
    case: str,
    isolation: Literal["auto", "docker", "process"] = "auto",
    budget: str | None = None,
    model: str | None = None,
    digest: str | None = None,
    commit: str | None = None,
) -> State[Any]:
    """Examine a case: what broke, how sure, what to do now, and may the candidate serve?

    Args:
        case: The case, as in `assay list`.
        isolation: Where stages run. auto: containers where an engine answers, else processes.
        budget: How long it may take, as in 90s, 10m or 2h. Empty: as case.yaml says.
        model: Of a deploy event: the version of the model that is about to serve.
        digest: Of a deploy event: the digest of its image, as in sha256:0123...
        commit: Of a deploy event: the commit that it was built from.
    """
    root, say = workspace.find(Path.cwd()), get_run_logger().info
    told = {"case": case, "model": model, "digest": digest, "commit": commit}
    deploy = Deploy.of(told) if model or digest or commit else None
    claim = deploy_claims.take(root, deploy, _flow_run_id()) if deploy else None
    if deploy and claim is None:
        return _told_before(root, deploy)
    asked = _Asked(root, case, isolation, budget, deploy, claim)
    ended = whole_run.go(
        root, partial(asked.begin, say), _follow, say, told=False, concluded=asked.answered
    )
    return ended.end.state()


def _told_before(root: Path, deploy: Deploy) -> State[Any]:
    other = deploy_claims.read(root, deploy.id)
    has = f"run {other.run}" if other and other.run else "another flow run"
    return Completed(name="Told before", message=f"Event {deploy.id}: {has} has it.")


def _follow(investigation: Investigation) -> None:
    """Run the stages in this flow run; Prefect hears of the end when the flow returns it."""
    investigate(investigation.loaded.name, investigation.run.id)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a flow run is to examine, and for which event."""

    root: Path
    case: str
    isolation: str
    budget: str | None
    deploy: Deploy | None
    claim: deploy_claims.Claim | None

    def begin(self, say: Say) -> Investigation:
        """Open the run, and write down that the event has it; what keeps it from that is told."""
        loaded = None
        try:
            runs.reconcile(self.root, say)
            loaded = load_case(self.root, self.case)
            investigation = self._open(loaded, say)
        except Exception as error:
            if self.claim:
                deploy_claims.ended(self.root, self.claim, str(error))
            if loaded:
                notify.tell_unbegun(self.root, loaded, error, say)
            raise
        if self.claim:
            deploy_claims.begun(self.root, self.claim, investigation.run.id)
        return investigation

    def _open(self, loaded: LoadedCase, say: Say) -> Investigation:
        isolation, budget = self.isolation, self.budget
        if self.deploy:
            release = loaded.case.release
            isolation = release.isolation if isolation == "auto" else isolation
            budget = budget or release.budget
        time = stated(budget) if budget else loaded.case.budget
        trigger = _trigger(loaded, self.deploy)
        return begin(self.root, self.case, isolation, say, time, trigger=trigger)

    def answered(self, ended: whole_run.Ended) -> None:
        """Write down that the event has its answer; one that the server was lost to has none."""
        if self.claim and not isinstance(ended.error, ServerLost):
            deploy_claims.ended(self.root, self.claim)


def _trigger(loaded: LoadedCase, deploy: Deploy | None) -> dict[str, Any]:
    """Say what started this run."""
    if deploy:
        told = {"model": deploy.model, "digest": deploy.digest, "commit": deploy.commit}
        return {"by": "deploy", "event": deploy.id, **told}
    schedule = loaded.case.schedule
    if schedule and _flow_run().auto_scheduled:
        return {"by": "schedule", "cron": schedule.cron, "timezone": schedule.timezone}
    return {"by": "hand", "where": "Prefect"}


def _flow_run() -> Any:
    context = FlowRunContext.get()
    return context.flow_run if context else None


def _flow_run_id() -> str:
    return str(_flow_run().id)
