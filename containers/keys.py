"""Which environment is this? Keys that are the same on every host, computed without an engine."""

import hashlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Final

from containers.job import RunnerError

FAMILIES: Final = ("base", "contracts", "torch", "onnx")
"""The project's own images; each has a folder here with its requirements.txt."""

DEFAULT_BASE: Final = "python:3.11-slim-bookworm"
BASE_VARIABLE: Final = "ASSAY_BASE_IMAGE"
"""Names another base image where no registry can be reached."""

ROOM: Final = Path(__file__).resolve().parent
SHORT: Final = 12  # digits of a key in an image's tag: enough to tell apart, short enough to read


def base_name() -> str:
    """Return the base image's name: `ASSAY_BASE_IMAGE`, else the official Python image."""
    return os.environ.get(BASE_VARIABLE) or DEFAULT_BASE


def is_family(image: str) -> bool:
    """Tell one of the project's own families from a full image reference."""
    return image in FAMILIES


def dockerfile_text() -> str:
    """Return the Dockerfile that all families share."""
    return (ROOM / "Dockerfile").read_text(encoding="utf-8")


def requirements_text(family: str) -> str:
    """Return a family's pins, one `name==version` a line.

    Raises:
        RunnerError: there is no such family.
    """
    if not is_family(family):
        raise RunnerError(f"Which image? One of: {', '.join(FAMILIES)}. Got: {family}.")
    return (ROOM / family / "requirements.txt").read_text(encoding="utf-8")


def build_key(family: str) -> str:
    """Return the sha256 of what an image is built from: Dockerfile, pins, the base's name.

    The image's own id would not do: it changes with every build without cache.
    """
    parts = [dockerfile_text(), requirements_text(family), base_name()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def image_name(family: str) -> str:
    """Return `assay/<family>:<first 12 digits of its build key>`."""
    return f"assay/{family}:{build_key(family)[:SHORT]}"


def process_key(lock: Path | None = None) -> str:
    """Return `process:<digits>`: the lock's text, the interpreter and the platform.

    Args:
        lock: the file that pins the host's environment; `constraints.txt` at the root by default.

    Raises:
        RunnerError: the lock is not there, so that two environments could not be told apart.
    """
    path = lock or ROOM.parent / "constraints.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunnerError(
            f"{path} cannot be read ({error.strerror}); it pins the environment that isolation "
            "`process` runs in. Bring it back with `git checkout constraints.txt`."
        ) from error
    parts = [text, platform.python_implementation(), platform.python_version()]
    parts += [sys.platform, platform.machine()]
    return f"process:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"
