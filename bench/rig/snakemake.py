"""Snakemake in an environment of its own, since its pins are not ours."""

import subprocess
import sys
from pathlib import Path

from bench.rig.figures import Skipped

ENVS = Path(__file__).resolve().parents[1] / ".envs"
WANTED = "snakemake>=9,<10"


def installed() -> Path:
    """Return the program, installing it the first time.

    Raises:
        Skipped: it could not be installed.
    """
    home = ENVS / "snakemake-9"
    program = home / "bin/snakemake"
    if program.exists():
        return program
    print(f"installing {WANTED} into {home.name} ...", file=sys.stderr, flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(home / "bin/python"), "-m", "pip", "install", "-q", WANTED]
        subprocess.run(pip, check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as error:
        raise Skipped(f"{WANTED} could not be installed ({error}).") from error
    return program


def version(program: Path) -> str:
    """Return what was measured."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
