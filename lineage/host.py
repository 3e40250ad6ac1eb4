"""The machine, as far as a number may depend on it."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any


@cache
def facts() -> dict[str, Any]:
    """Return system, CPU, memory and versions; no host or user name."""
    import psutil

    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "dvc": version("dvc"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
