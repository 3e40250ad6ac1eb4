"""The flows that `assay serve` starts: `assay run` and `assay reproduce`, with the UI's params."""

from pathlib import Path
from typing import Any, Literal

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Cancelled, Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows import current, deploy_claims, guard, notify, run_end, workspace
from flows.budget import stated
from flows.case import LoadedCase, load_case
from flows.deploy_event import Deploy
from flows.investigate import WORKERS, investigate
from flows.investigation import Investigation, Say, begin
from flows.reproduce import reproduce
from lineage import runs
from lineage.provenance import RunRecord


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
    claim = None
    if deploy:
        claim = deploy_claims.take(root, deploy, _flow_run_id())
        if claim is None:
            other = deploy_claims.read(root, deploy.id)
            has = f"run {other.run}" if other and other.run else "another flow run"
            return Completed(name="Told before", message=f"Event {deploy.id}: {has} has it.")
    try:
        investigation = _begin(case, isolation, budget, deploy, say)
    except Exception as error:
        if claim:
            deploy_claims.ended(root, claim, str(error))
        raise
    if claim:
        claim = deploy_claims.begun(root, claim, investigation.run.id)
    record = _follow(investigation)
    if claim:
        deploy_claims.ended(root, claim)
    run_end.tell(root, investigation.loaded, record, say)
    return _state(record)


def _begin(
    case: str, isolation: str, budget: str | None, deploy: Deploy | None, say: Say
) -> Investigation:
    root = workspace.find(Path.cwd())
    runs.reconcile(root, say)
    loaded = load_case(root, case)
    if deploy:
        release = loaded.case.release
        isolation = release.isolation if isolation == "auto" else isolation
        budget = budget or release.budget
    try:
        time = stated(budget) if budget else loaded.case.budget
        return begin(root, case, isolation, say, time, trigger=_trigger(loaded, deploy))
    except Exception as error:
        notify.tell_unbegun(root, loaded, error, say)
        raise


def _follow(investigation: Investigation) -> RunRecord:
    """Run the stages in this flow run, and end the run whatever became of them."""
    error: BaseException | None = None
    run_id = current.register(investigation)
    with guard.guarded(investigation.run.workspace):
        try:
            investigate.fn(investigation.loaded.name, run_id)
        except BaseException as broken:  # noqa: BLE001  told to the record, then to the server
            error = broken
        finally:
            current.forget(run_id)
        return investigation.conclude(error)


def _state(record: RunRecord) -> State[Any]:
    """Name the flow run's end: a closed gate is a good answer, told by its name."""
    if record.state == "cancelled":
        return Cancelled(message=f"run {record.id}")
    if record.state == "failed":
        return Failed(message=f"run {record.id}: {record.error}")
    because = f": {record.because}" if record.because else ""
    return Completed(name=f"Gate {record.verdict}", message=f"run {record.id}{because}")


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


@flow(name="reproduce", flow_run_name="{run}", persist_result=False)
def repeat(run: str) -> State[Any]:
    """Repeat a run in a clean clone with empty caches: does every output come out the same?

    Args:
        run: An id, a case (its last finished run), or CASE@previous.
    """
    result = reproduce(workspace.find(Path.cwd()), run, get_run_logger().info)
    told = f"run {result.of.id} as {result.run.id}: {result.sentence}"
    if result.status > 1:
        return Failed(message=told)
    return Completed(name="Differs" if result.status else "The same", message=told)
