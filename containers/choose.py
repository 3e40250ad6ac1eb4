"""Docker or a process? Decided once a run, and said in one line."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal

from containers import engine, images
from containers.docker_runner import DockerRunner
from containers.job import Runner, RunnerError
from containers.keys import FAMILIES
from containers.process_runner import ProcessRunner

Isolation = Literal["auto", "docker", "process"]
ISOLATIONS: Final = ("auto", "docker", "process")


def choose(
    isolation: Isolation,
    on_progress: Callable[[str], None],
    *,
    families: Iterable[str] = FAMILIES,
    foreign: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Runner, str]:
    """Return a runner, and a note on why it is that one ("" when the wish was exact).

    Images that are missing are built first, which takes minutes and is told to `on_progress`.

    Args:
        isolation: `auto` takes Docker where an engine answers and the images are there or can be
            built, else a process.
        on_progress: takes one line at a time.
        families: the images of the project's own that the run needs.
        foreign: {full image reference: the key of the case that names it}. These are taken as they
            are, and no process of the host stands in for them.

    Raises:
        RunnerError: `docker` was asked for, or is needed, and is not to be had; a foreign image is
            not on the engine; or the word is none of the three.
    """
    if isolation not in ISOLATIONS:
        raise RunnerError(f"Which isolation? One of: {', '.join(ISOLATIONS)}. Got: {isolation}.")
    if isolation == "process":
        for image, key in foreign.items():
            raise RunnerError(_needs_engine(image, key))
        return ProcessRunner(), ""
    try:
        client = engine.connect()
        images.build(client, families, on_progress=on_progress)
        runner = DockerRunner(client)
        runner.info  # noqa: B018 - asked now, while there is still a choice
        for image in foreign:
            runner.environment_key(image)
    except RunnerError as error:
        fault = error
    except engine.faults() as error:
        fault = RunnerError(f"The engine answers and then fails: {error}. See `docker info`.")
    else:
        return runner, "" if isolation == "docker" else "Isolation: docker."
    if isolation == "docker":
        raise fault
    for image, key in foreign.items():
        raise RunnerError(f"{fault} {_needs_engine(image, key)}") from fault
    why = " ".join(str(fault).split())
    return ProcessRunner(), (
        f"Isolation: process, without limits on memory or network. {why} "
        "`--isolation docker` insists on containers."
    )


def _needs_engine(image: str, key: str) -> str:
    return (
        f"{key}: {image} is an image of its own, which runs in a container only. Start Docker and "
        f"use `--isolation docker`, or name one of {', '.join(FAMILIES)}."
    )
