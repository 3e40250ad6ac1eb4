"""The flow: one task a stage, independent stages at the same time."""

import base64
import os
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_image_artifact, create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from containers.job import Reason
from flows import current, flow_states
from flows.cut import NotInTime
from flows.investigation import Cancelled
from flows.shown_text import for_markdown
from stages.reports.page import ANSWER
from stages.reports.parity import WORST

WORKERS = os.cpu_count() or 2
TICK_S = 0.2  # how often clock and signals are looked at
RETRIES = 2  # for an engine that went away; a stage's own fault would fail again


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    error = state.result(raise_on_failure=False)
    return flow_states.reason_of(error) is Reason.ENGINE_GONE


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
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
)
def examine_case(case: str, run_id: str) -> State[Any]:
    """Examine one case; what ends it early is a state, by a name that tells the reasons apart.

    The error itself is left with the investigation: Prefect would wrap it.
    """
    investigation = current.get(run_id)
    try:
        investigate(case, run_id)
    except Exception as error:
        investigation.error = error
        if getattr(error, "exit_status", None) is None and not investigation.cancel.is_set():
            raise  # a fault of ours: Prefect shows where
        cancelled = investigation.was_cancelled(error)
        return flow_states.end_of(run_id, {}, error, cancelled=cancelled).state()
    gate = investigation.report(ANSWER.path)["gate"]
    return flow_states.end_of(run_id, gate, None, cancelled=False).state()


def investigate(case: str, run_id: str) -> None:
    """Examine one case within a flow run; raises the first stage's failure."""
    investigation = current.get(run_id)
    investigation.begun_as(str(flow_run.id))
    get_run_logger().info("%s: %s in %s", case, run_id, investigation.runner.kind)
    with (
        investigation.stopping_on_signals(),
        flow_states.heard(str(flow_run.id), investigation.cancel_from_afar),
    ):
        try:
            _advance_all(run_id)
        except KeyboardInterrupt:
            # Asked for the third time. The stages' threads end by themselves, in seconds.
            investigation.end_now()
            raise Cancelled(run_id) from None
    investigation.finished = True
    try:
        _publish(run_id)
    except Exception as error:  # noqa: BLE001  the UI is a courtesy: the answer is there without it
        investigation.say(f"Prefect's UI has no verdict of this run: {error}")


def _advance_all(run_id: str) -> None:
    """Begin what can begin, the most valuable first, and watch the clock meanwhile.

    What waits for a stage that failed is never begun; all else is, so that it is kept.
    """
    investigation = current.get(run_id)
    course, cut = investigation.cut.course, investigation.cut
    waiting, ended = list(course.order), SimpleQueue[str]()
    futures: dict[str, PrefectFuture[str]] = {}
    running: set[str] = set()
    never: set[str] = set()
    good: list[str] = []
    while True:
        if investigation.cancel.is_set():
            never |= {*waiting}
            waiting.clear()
        for name in course.ready(waiting, good)[: WORKERS - len(running)]:
            waiting.remove(name)
            running.add(name)
            futures[name] = _begin(run_id, name, [futures[need] for need in course.needs[name]])
            futures[name].add_done_callback(partial(_say_ended, ended, name))
        if not running:
            break
        cut.tick(running, cancelled=investigation.cancel.is_set())
        with suppress(Empty):
            name = ended.get(timeout=TICK_S)
            running.remove(name)
            futures[name].wait()  # else Prefect tells its state without its exception
            if futures[name].state.is_completed():
                good.append(name)
            elif _is_over(futures[name]):
                waiting.clear()
    for future in futures.values():
        if future.state.is_failed() or future.state.is_crashed():
            raise future.state.result(raise_on_failure=False)
    if never:
        raise Cancelled(run_id)


def _say_ended(ended: SimpleQueue[str], name: str, _future: PrefectFuture[str]) -> None:
    ended.put(name)


def _begin(run_id: str, name: str, waited: list[PrefectFuture[str]]) -> PrefectFuture[str]:
    # Options by name: the task is one, its row in the UI says which stage it was.
    begun: PrefectFuture[str] = advance.with_options(name=name).submit(  # type: ignore[call-overload]
        run_id, name, wait_for=waited
    )
    return begun


def _is_over(future: PrefectFuture[str]) -> bool:
    """Tell whether there will be no answer, so that nothing else is worth its time."""
    return isinstance(future.state.result(raise_on_failure=False), NotInTime)


def _publish(run_id: str) -> None:
    """Show the verdict, the findings and the picture in Prefect's UI."""
    investigation = current.get(run_id)
    answer = investigation.report(ANSWER.path)
    diagnosis, gate = answer["diagnose"], answer["gate"]
    key = investigation.loaded.name.lower().replace("_", "-")
    cut = f"Partial answer. {for_markdown(answer['partial'])}.\n\n" if answer["partial"] else ""
    said = for_markdown(diagnosis["verdict"])
    text = f"# Gate {gate['verdict']}\n\n{cut}{said}\n\nRun `{run_id}`\n"
    create_markdown_artifact(text, key=f"{key}-verdict", description=said)
    rows = [
        {
            "cause": for_markdown(finding["title"]),
            "component": for_markdown(finding["component"]),
            "explains": (finding["explains"] or {}).get("value"),
            "evidence": finding["strength"],
            "do now": for_markdown(finding["action"] or ""),
        }
        for finding in diagnosis["findings"]
    ]
    create_table_artifact(rows, key=f"{key}-findings", description="Causes, by what they explain")
    picture = investigation.run.tree / investigation.loaded.folder / WORST.path
    if picture.is_file():
        data = base64.b64encode(picture.read_bytes()).decode()
        create_image_artifact(f"data:image/png;base64,{data}", key=f"{key}-worst")
