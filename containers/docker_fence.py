"""A container's name is a fence: two live jobs never share one, and the dead are cleared away."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

from containers.engine import Client
from containers.job import RunnerError
from containers.owner import LABEL, Owner

WORKSPACE_LABEL: Final = "assay.workspace"
"""Put on a job by its workspace; who reaps looks for it."""

_live: set[str] = set()
_guard = threading.Lock()


def container_name(job_name: str) -> str:
    """Return the name as an engine takes it; a changed one carries a digest, to stay unique."""
    plain = re.sub(r"[^a-zA-Z0-9_.-]", "-", job_name)
    if plain == job_name and re.match(r"[a-zA-Z0-9].", plain):
        return plain
    return f"assay-{plain}-{sha256(job_name.encode()).hexdigest()[:8]}"


@contextmanager
def held(name: str) -> Iterator[None]:
    """Hold a name within this process.

    Raises:
        RunnerError: another job of this process holds it.
    """
    with _guard:
        if name in _live:
            raise RunnerError(f"A job named {name} runs in this process already. Wait for it.")
        _live.add(name)
    try:
        yield
    finally:
        with _guard:
            _live.discard(name)


def create(client: Client, name: str, arguments: dict[str, Any]) -> str:
    """Create a container, clearing away a namesake whose owner is dead; returns its id.

    Raises:
        RunnerError: the namesake's owner is alive, or the engine refuses.
    """
    import docker

    for attempt in range(3):
        try:
            answer = client.create_container(name=name, **arguments)
        except docker.errors.APIError as error:
            if error.status_code != 409 or attempt == 2:  # noqa: PLR2004 - HTTP: conflict
                raise RunnerError(
                    f"The engine would not create container {name}: {error.explanation}"
                ) from error
            _clear(client, name)
            continue
        return str(answer["Id"])
    raise AssertionError("unreachable")


def _clear(client: Client, name: str) -> None:
    import docker

    try:
        found = client.inspect_container(name)
    except docker.errors.NotFound:
        return
    owner = Owner.parse((found["Config"]["Labels"] or {}).get(LABEL, ""))
    # This process holds the name (`held`), so a namesake of its own is one it failed to remove.
    if owner is None or not (owner.is_dead() or owner == Owner.me()):
        whose = f"of {owner.in_words()}, which is alive" if owner else "that assay did not start"
        raise RunnerError(
            f"Container {name} {whose}, stands in the way. Wait for it, or end it with "
            f"`docker rm -f {name}`."
        )
    remove(client, found["Id"])


def remove(client: Client, container: str) -> bool:
    """Remove a container whatever its state; False when the engine did not answer."""
    import docker
    import requests

    try:
        client.remove_container(container, force=True, v=True)
    except docker.errors.APIError as error:
        return error.status_code in {404, 409}  # gone, or going
    except (docker.errors.DockerException, requests.RequestException):
        return False
    return True


def reap(client: Client, workspace: str) -> list[str]:
    """Remove a workspace's containers whose owners are dead; returns their names.

    Args:
        client: the engine's client.
        workspace: the value of their label `assay.workspace`.
    """
    labels = [LABEL, f"{WORKSPACE_LABEL}={workspace}"]
    reaped = []
    for found in client.containers(all=True, filters={"label": labels}):
        owner = Owner.parse(found["Labels"][LABEL])
        if owner is not None and owner.is_dead() and remove(client, found["Id"]):
            reaped.append(found["Names"][0].lstrip("/"))
    return sorted(reaped)
