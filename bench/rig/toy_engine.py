"""What `assay serve` starts for a due flow run, over a workspace of `toy_case`."""

import runpy
import sys
from pathlib import Path

from bench.rig.toy_assay import stand_in


def main() -> None:
    """Be `python -m prefect.engine` in the workspace that this process stands in."""
    stand_in(Path.cwd())
    from flows import served
    from flows.commands import run as command

    served.load_case, served.begin = command.load_case, command.begin
    sys.argv = ["prefect.engine"]
    runpy.run_module("prefect.engine", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
