"""What the figures were measured on."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("prefect", "dvc", "docker", "numpy", "torch")


def describe() -> dict[str, Any]:
    """Return the machine's description; never its name or its address."""
    import psutil

    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "docker_engine": _engine(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _engine() -> str | None:
    from containers.engine import connect
    from containers.job import RunnerError

    try:
        found = connect().version()
    except RunnerError:
        return None
    return str(found["Version"])
