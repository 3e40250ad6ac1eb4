"""The reproduction of a run as a flow: by hand, on a schedule, or after a deploy."""

from pathlib import Path

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact

from flows import workspace
from flows.commands.reproduce import markdown
from flows.reproduce import reproduce


class NotReproduced(Exception):  # noqa: N818 - reads as the fact that it is
    """A run's repetition differs from it, or broke."""


@flow(name="reproduce", flow_run_name="reproduce {which}", persist_result=False)
def reproduction(which: str = "latest", root: str | None = None) -> str:
    """Repeat a run from its tag in a clean clone, and compare what it makes.

    Args:
        which: an id or its beginning, `latest`, CASE, or `CASE@previous`.
        root: the workspace; by default the one that this process stands in.

    Returns:
        The id of the run that repeats it. It fails where an output differs.
    """
    log = get_run_logger()
    found = Path(root) if root else workspace.find(Path.cwd())
    result = reproduce(found, which, lambda line: log.info("%s", line))
    create_markdown_artifact(
        markdown(result), key="reproduction", description=f"{result.of.id}: {result.sentence}"
    )
    if result.status:
        raise NotReproduced(f"{result.of.id}: {result.sentence}")
    return result.run.id
