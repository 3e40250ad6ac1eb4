"""Side environments that hold the peers: nothing of ours depends on them, and they on nothing."""

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.rig.figures import Skipped

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".assay" / "bench"
DONE = "installed.txt"


@dataclass(frozen=True, slots=True)
class Environment:
    """Pins, in the steps in which they are installed.

    `alone` comes first and without its dependencies: torch-fidelity and TorchDrift ask for
    torchvision, which does not import beside every build of torch, and need it for pictures only.
    """

    alone: tuple[str, ...]
    pins: tuple[str, ...]

    @property
    def key(self) -> str:
        """What the folder is called: other pins are another folder."""
        text = "\n".join((sys.version, *self.alone, "", *self.pins))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def version(self, package: str) -> str:
        """Return the version that a package is pinned at."""
        pins = dict(pin.split("==") for pin in (*self.alone, *self.pins))
        return pins[package]


ENVIRONMENTS: Mapping[str, Environment] = {
    "drift": Environment(
        ("torchdrift==0.1.0.post1",),
        ("alibi-detect==0.13.0", "torch==2.13.0", "numpy==1.26.4", "scipy==1.17.1", "tqdm==4.70.1"),
    ),
    "generative": Environment(
        ("torch-fidelity==0.4.0", "prdc==0.2"),
        (
            "torch==2.13.0",
            "numpy==2.4.6",
            "scipy==1.17.1",
            "scikit-learn==1.9.1",
            "tqdm==4.70.1",
            "pillow==13.0.0",
        ),
    ),
}


def python_of(name: str) -> Path:
    """Return the interpreter of a side environment, which is created when it is not there.

    Raises:
        Skipped: it could not be installed.
    """
    environment = ENVIRONMENTS[name]
    folder = FOLDER / f"{name}-{environment.key}"
    python = folder / "bin" / "python"
    if (folder / DONE).exists():
        return python
    print(f"installing {name}: {', '.join((*environment.alone, *environment.pins))}", flush=True)
    _do([sys.executable, "-m", "venv", "--clear", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if environment.alone:
        _do([*pip, "--no-deps", *environment.alone])
    _do([*pip, *environment.pins])
    (folder / DONE).write_text("\n".join(environment.pins) + "\n", encoding="utf-8")
    return python


def _do(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing was said"]
        raise Skipped(f"`{' '.join(command)}` failed: {said[-1]}")
