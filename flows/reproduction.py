"""The reproduction of a run as a flow: on a schedule, or by hand in Prefect's UI."""

from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows import workspace
from flows.commands.reproduce import markdown
from flows.reproduce import reproduce


@flow(name="reproduce", flow_run_name="{run}", persist_result=False)
def reproduction(run: str = "latest") -> State[Any]:
    """Repeat a run in a clean clone with empty caches: does every output come out the same?

    Args:
        run: An id or its beginning, a case (its last finished run), CASE@previous, or latest.
    """
    log = get_run_logger()
    result = reproduce(workspace.find(Path.cwd()), run, lambda line: log.info("%s", line))
    create_markdown_artifact(
        markdown(result), key="reproduction", description=f"{result.of.id}: {result.sentence}"
    )
    told = f"run {result.of.id} as {result.run.id}: {result.sentence}"
    if result.status:
        return Failed(name="Differs" if result.status == 1 else "Failed", message=told)
    return Completed(name="The same", message=told)
