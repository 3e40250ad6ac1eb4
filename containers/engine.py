"""Is there an engine, and where? Answers in milliseconds when there is none."""

import os
import socket
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from containers.job import RunnerError

API_TIMEOUT_S: Final = 120
"""One call to the engine; `start` takes half a second alone, far longer on a machine that swaps."""
KNOCK_TIMEOUT_S: Final = 2.0
"""The first knock on a remote engine; a local socket answers or refuses at once."""

Client: TypeAlias = Any
"""docker.APIClient: the low-level one, whose calls are one request each."""


class EngineAbsentError(RunnerError):
    """No engine answers; the message says where it was looked for."""


def addresses() -> tuple[str, ...]:
    """Return where an engine may listen, best first: `DOCKER_HOST` alone where it is set."""
    told = os.environ.get("DOCKER_HOST")
    if told:
        return (told,)
    sockets = [Path("/var/run/docker.sock")]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        sockets.append(Path(runtime) / "docker.sock")  # rootless
    sockets.append(Path.home() / ".docker" / "run" / "docker.sock")  # Docker Desktop
    return tuple(f"unix://{path}" for path in sockets)


def connect(*, knock_s: float = KNOCK_TIMEOUT_S, call_s: int = API_TIMEOUT_S) -> Client:
    """Return a client of the first engine that answers.

    Args:
        knock_s: how long a first knock may take.
        call_s: how long a call may take.

    Raises:
        EngineAbsentError: none does.
    """
    faults = []
    for address in addresses():
        fault = _knock(address, knock_s)
        if fault is None:
            client, fault = _open(address, call_s)
            if client is not None:
                return client
        faults.append(f"{address}: {fault}")
    raise EngineAbsentError(
        f"No Docker engine answers ({'; '.join(faults)}). Start Docker, or set DOCKER_HOST to "
        "where it listens, or use isolation `process`."
    )


def _knock(address: str, wait_s: float) -> str | None:
    """Return why nobody listens there, or None. Spares the import of the SDK when nobody does."""
    parts = urlsplit(address)
    try:
        if parts.scheme == "unix":
            with socket.socket(socket.AF_UNIX) as knock:
                knock.settimeout(wait_s)
                knock.connect(parts.path)
        elif parts.scheme in {"tcp", "http", "https"} and parts.hostname:
            port = parts.port or 2375
            socket.create_connection((parts.hostname, port), timeout=wait_s).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None


def _open(address: str, call_s: int) -> tuple[Client | None, str]:
    """Return a client that agreed on an API version, or None and why."""
    import docker.errors
    import docker.utils
    import requests

    environment = {**os.environ, "DOCKER_HOST": address}
    try:
        settings = docker.utils.kwargs_from_env(environment=environment)
        return docker.APIClient(version="auto", timeout=call_s, **settings), ""
    except (docker.errors.DockerException, requests.RequestException) as error:
        return None, str(error)


def faults() -> tuple[type[Exception], ...]:
    """Return what the SDK raises when an engine fails; asked for late, as its import is slow."""
    import docker.errors
    import requests

    return docker.errors.DockerException, requests.RequestException, OSError


def answers(client: Client) -> bool:
    """Tell whether an engine that was connected to is still there."""
    try:
        return bool(client.ping())
    except faults():
        return False


def is_rootless(info: dict[str, Any]) -> bool:
    """Tell an engine that runs as a user: root in its containers is that user outside."""
    return any("name=rootless" in option for option in info.get("SecurityOptions") or [])


def has_gpu(info: dict[str, Any]) -> bool:
    """Tell an engine that can hand a GPU to a container."""
    return "nvidia" in (info.get("Runtimes") or {})
