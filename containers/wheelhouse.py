"""A folder of wheels, filled on the host, from which an image is built with no network."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from containers.job import RunnerError
from containers.keys import ROOM, requirements_text

VARIABLE: Final = "ASSAY_WHEELHOUSE"
IMAGE_PYTHON: Final = (3, 11)
GPU_WHEELS: Final = ("nvidia-", "triton", "cuda-")
"""What a CUDA build of torch asks for by itself; no pin names them, as the CPU build has none."""


def told_folder() -> Path | None:
    """Return the folder that `ASSAY_WHEELHOUSE` names, or None."""
    told = os.environ.get(VARIABLE)
    return Path(told).absolute() if told else None


def pins(family: str) -> dict[str, str]:
    """Return a family's distributions and versions, by normalised name."""
    lines = requirements_text(family).splitlines()
    split = (line.partition("==") for line in lines if "==" in line and not line.startswith("#"))
    return {_normalised(name): version.strip() for name, _, version in split}


def select(folder: Path, family: str) -> tuple[list[Path], list[str]]:
    """Return a family's wheels in the folder, and the pins that no wheel there satisfies."""
    wanted = pins(family)
    found: list[Path] = []
    met: set[str] = set()
    for wheel in sorted(folder.glob("*.whl")):
        name, version = _identity(wheel)
        if wanted.get(name) == version:
            found.append(wheel)
            met.add(name)
        elif family == "torch" and name.startswith(GPU_WHEELS):
            found.append(wheel)
    return found, [f"{name}=={version}" for name, version in wanted.items() if name not in met]


def fill(folder: Path, families: Iterable[str], on_progress: Callable[[str], None]) -> None:
    """Bring what the folder lacks, by this interpreter's pip and the host's configuration of it.

    Raises:
        RunnerError: this host's wheels would not fit the image, or pip failed.
    """
    families = tuple(families)
    lacking = [family for family in families if not folder.is_dir() or select(folder, family)[1]]
    if not lacking:
        return
    if sys.platform != "linux" or sys.version_info[:2] != IMAGE_PYTHON:
        wanted = ".".join(map(str, IMAGE_PYTHON))
        raise RunnerError(
            f"A wheelhouse for the images is filled on Linux with Python {wanted}; this is "
            f"{sys.platform} with {sys.version_info[0]}.{sys.version_info[1]}. Fill {folder} there "
            f"and copy it, or unset {VARIABLE} to install from the package index."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for family in lacking:
        on_progress(f"{family}: filling the wheelhouse {folder}")
        _pip_wheel(folder, family, on_progress)


def _pip_wheel(folder: Path, family: str, on_progress: Callable[[str], None]) -> None:
    """Run `pip wheel`, which also builds the few distributions that have no wheel."""
    command = [sys.executable, "-m", "pip", "wheel", "--wheel-dir", str(folder)]
    command += ["--requirement", str(ROOM / family / "requirements.txt")]
    last = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            last = line.rstrip() or last
            if not last.startswith("WARNING"):
                on_progress(f"{family}: {last}")
    if process.returncode != 0:
        raise RunnerError(
            f"The wheelhouse {folder} could not be filled for {family}; pip said: {last}. "
            "Check the network, or put the wheels there by hand."
        )


def _identity(wheel: Path) -> tuple[str, str]:
    """Return a wheel's normalised name and its version without the local part (`+cpu`)."""
    name, version, *_ = wheel.name.split("-")
    return _normalised(name), version.partition("+")[0]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
