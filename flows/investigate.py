"""The flow: one task a stage, independent stages at the same time."""

import base64
import os
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_image_artifact, create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from containers.job import Reason
from flows import current
from flows.plan import upstream
from lineage.execute import StageFailed
from stages.reports.diagnose import DIAGNOSE
from stages.reports.gate import GATE
from stages.reports.parity import WORST

RETRIES = 2  # for an engine that went away; a stage's own fault would fail again


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    error = state.result(raise_on_failure=False)
    return isinstance(error, StageFailed) and error.exit.reason is Reason.ENGINE_GONE


@task(
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=RETRIES,
    retry_delay_seconds=5,
    retry_condition_fn=_worth_retrying,
    task_run_name="{stage}",
)
def advance(run_id: str, stage: str) -> str:
    """Bring one stage up to date."""
    return current.get(run_id).advance(stage)


@flow(
    name="investigate",
    flow_run_name="{case} {run_id}",
    persist_result=False,
    validate_parameters=False,
    task_runner=ThreadPoolTaskRunner(max_workers=os.cpu_count() or 2),  # type: ignore[arg-type]
)
def investigate(case: str, run_id: str) -> None:
    """Examine one case; raises the first stage's failure."""
    investigation = current.get(run_id)
    investigation.flow_run_id = str(flow_run.id)
    get_run_logger().info("%s: %s in %s", case, run_id, investigation.runner.kind)
    with investigation.stopping_on_signals():
        _advance_all(run_id)
    try:
        _publish(run_id)
    except Exception as error:  # noqa: BLE001  the UI is a courtesy: the answer is there without it
        investigation.say(f"Prefect's UI has no verdict of this run: {error}")


def _advance_all(run_id: str) -> None:
    futures: dict[str, PrefectFuture[str]] = {}
    for name, needs in upstream(current.get(run_id).rows).items():
        waited = [futures[need] for need in needs]
        # Options by name: the task is one, its row in the UI says which stage it was.
        futures[name] = advance.with_options(name=name).submit(  # type: ignore[call-overload]
            run_id, name, wait_for=waited
        )
    for future in futures.values():
        future.wait()
    for future in futures.values():
        if future.state.is_failed() or future.state.is_crashed():
            raise future.state.result(raise_on_failure=False)


def _publish(run_id: str) -> None:
    """Show the verdict, the findings and the picture in Prefect's UI."""
    investigation = current.get(run_id)
    diagnosis, gate = investigation.report(DIAGNOSE.path), investigation.report(GATE.path)
    key = investigation.loaded.name.lower().replace("_", "-")
    text = f"# Gate {gate['verdict']}\n\n{diagnosis['verdict']}\n\nRun `{run_id}`\n"
    create_markdown_artifact(text, key=f"{key}-verdict", description=diagnosis["verdict"])
    rows = [
        {
            "cause": finding["title"],
            "component": finding["component"],
            "explains": (finding["explains"] or {}).get("value"),
            "evidence": finding["strength"],
            "do now": finding["action"],
        }
        for finding in diagnosis["findings"]
    ]
    create_table_artifact(rows, key=f"{key}-findings", description="Causes, by what they explain")
    picture = investigation.run.tree / investigation.loaded.folder / WORST.path
    if picture.is_file():
        data = base64.b64encode(picture.read_bytes()).decode()
        create_image_artifact(f"data:image/png;base64,{data}", key=f"{key}-worst")
