"""What a stage's process sees of the world it runs in; the standard library only."""

from __future__ import annotations

import os
import platform
import resource
import sys
from typing import Any, Dict, List

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
SECCOMP = {"0": "off", "1": "strict", "2": "filter"}


def describe() -> Dict[str, Any]:
    """Return facts for the provenance; None where this system cannot tell."""
    status = _status()
    capabilities = status.get("CapEff")
    privileges = status.get("NoNewPrivs")
    return {
        "uid": os.getuid(),
        "gid": os.getgid(),
        "capabilities": capabilities,
        "no_new_privileges": None if privileges is None else privileges == "1",
        "seccomp": SECCOMP.get(status.get("Seccomp", "")),
        "network": _interfaces(),
        "root_read_only": _root_read_only(),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_class": _cpu_class(),
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
        "torch": _torch(),
        "peak_rss_bytes": _peak_rss_bytes(),
    }


def _lines(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:  # not Linux, or hidden by the container
        return []


def _status() -> Dict[str, str]:
    pairs = [line.split(":", 1) for line in _lines("/proc/self/status") if ":" in line]
    return {key: value.strip() for key, value in pairs}


def _interfaces() -> List[str] | None:
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return None


def _root_read_only() -> bool | None:
    found = None
    for line in _lines("/proc/mounts"):
        words = line.split()
        if words[1:2] == ["/"]:  # the last mount over / is the one that is seen
            found = "ro" in " ".join(words[3:4]).split(",")
    return found


def _cpu_class() -> str | None:
    """Return the widest vector set that numeric libraries choose their kernels by."""
    for line in _lines("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            flags = value.split()
            for name, flag in (("avx512", "avx512f"), ("avx2", "avx2"), ("sve", "sve")):
                if flag in flags:
                    return name
            return "baseline"
    return None


def _torch() -> Dict[str, Any] | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    cuda = torch.cuda.is_available()
    return {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name(0) if cuda else None,
        "threads": torch.get_num_threads(),
    }


def _peak_rss_bytes() -> int:
    high_water = _status().get("VmHWM", "").split()
    if (
        high_water
    ):  # of this program alone; rusage also remembers the process that it was forked from
        return int(high_water[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
