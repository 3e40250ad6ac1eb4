"""How long does the command line take to say what it can?"""

import shutil
import sys
from pathlib import Path

from bench.rig.clock import spend
from bench.rig.figures import Figure, Skipped, median

ROUNDS = 15


def run() -> list[Figure]:
    assay = Path(sys.executable).parent / "assay"
    if shutil.which(assay) is None:
        raise Skipped(f"{assay} is not there. Install it with `make setup`.")
    spent = [spend([str(assay), "--help"], Path.cwd()) for _ in range(ROUNDS + 1)][1:]
    return [
        median("assay --help, CPU", "s", [one.cpu_s for one in spent], "<= 0.3"),
        median("assay --help, wall", "s", [one.wall_s for one in spent]),
    ]
