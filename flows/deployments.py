"""The deployments of a workspace's cases: what Prefect's UI offers, and what starts a run there."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.schedules import Cron, Schedule
from prefect.types.entrypoint import EntrypointType

from flows import case_triggers
from flows.case import LoadedCase
from flows.deploy_event import NAME
from flows.prefect_api import ApiFailed, call
from flows.reproduction import reproduction
from flows.served import examine

WORKSPACE = "workspace "
NOT_THERE = 404
MISSING = "not told"
"""No digest and no commit looks like this: a part that an event lacks is refused by its name."""


class ServedElsewhere(Exception):  # noqa: N818  reads as the fact that it is
    """Another workspace of this server serves a case of that name."""

    exit_status = 2


def put(cases: Sequence[LoadedCase], workspace: Path | None) -> dict[str, str]:
    """Tell the server of each case; returns {deployment's id: what it does}.

    Args:
        cases: what is served.
        workspace: None: the server is the workspace's own, and nobody else's.

    Raises:
        ServedElsewhere: two would start each other's runs, and close them.
    """
    place = f"{WORKSPACE}{socket.gethostname()}:{workspace.resolve()}" if workspace else None
    if place:
        for loaded in cases:
            _refuse_foreign(loaded.name, place)
    found = {}
    for loaded in cases:
        case = loaded.case
        found[_applied(_examine(loaded), case.schedule, place)] = loaded.name
        found[_applied(_repeat(loaded), case.reproduce, place)] = f"reproduce {loaded.name}"
    return found


def _refuse_foreign(name: str, place: str) -> None:
    try:
        tags = call(f"/deployments/name/investigate/{name}")["tags"]
    except ApiFailed as error:
        if error.status != NOT_THERE:
            raise
        return
    for tag in tags:
        if tag.startswith(WORKSPACE) and tag != place:
            raise ServedElsewhere(
                f"This server has a case {name} of another {tag}. Serve it there, or give the case "
                f"another name; if it is gone from there, delete the deployment investigate/{name}."
            )


def _applied(
    deployment: RunnerDeployment, hours: case_triggers.Hours | None, place: str | None
) -> str:
    deployment.tags = ["assay", *([place] if place else [])]
    # An empty list, and not none: hours that were taken out of case.yaml end.
    return str(deployment.apply(schedules=None if hours else []))


def _examine(loaded: LoadedCase) -> RunnerDeployment:
    case = loaded.case
    made = examine.to_deployment(
        name=loaded.name,
        description=f"{case.title}. Examined by hand, on its schedule, and when it is deployed.",
        parameters={"case": loaded.name},
        schedules=_when(case.schedule, case.schedule.budget if case.schedule else None),
        triggers=[_trigger(loaded.name)],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(made, RunnerDeployment)  # noqa: S101  a coroutine where a loop runs; none does
    return made


def _repeat(loaded: LoadedCase) -> RunnerDeployment:
    made = reproduction.to_deployment(
        name=loaded.name,
        description=f"{loaded.case.title}. A run repeated from its tag, with empty caches.",
        parameters={"run": loaded.name},
        schedules=_when(loaded.case.reproduce, None),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(made, RunnerDeployment)  # noqa: S101  as above
    return made


def _when(hours: case_triggers.Hours | None, budget: str | None) -> list[Schedule]:
    if hours is None:
        return []
    params = {"budget": budget} if budget else {}
    return [Cron(hours.cron, timezone=hours.timezone, parameters=params, slug="case")]


def _trigger(case: str) -> DeploymentEventTrigger:
    parts = ("model", "digest", "commit")
    templates: dict[str, Any] = {
        part: f"{{{{ event.payload.{part} | default('{MISSING}', true) }}}}" for part in parts
    }
    return DeploymentEventTrigger(
        name=f"{case} is deployed",
        expect={NAME},
        match={"prefect.resource.id": f"assay.case.{case}"},
        parameters=templates,
    )
