"""`assay` over a workspace of `toy_case`: python -m bench.rig.toy_assay WORKSPACE run toy ...

All of the command is the real thing but how a case is found and planned.
"""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.rig import toy_case
from containers.choose import choose
from containers.keys import is_family
from flows import begin_again, investigation, workspace
from flows.budget import Budget
from flows.commands import run as command

CHANGES = "ASSAY_TOY_ROWS"
"""A variable: {stage: {field of its row: value}} as JSON."""


def stand_in(root: Path) -> None:
    """Let `assay run CASE` and `assay rerun RUN` find the toy cases of a workspace."""

    def load_case(where: Path, case: str) -> Any:
        return SimpleNamespace(
            name=case,
            folder=f"cases/{case}",
            workspace=where,
            case=SimpleNamespace(budget="10m", schedule=None, release=None, notify=None),
            code_roots=(),
        )

    def begin(_root: Path, case: str, isolation: Any, say: Any, budget: str, **_other: Any) -> Any:
        changes = json.loads(os.environ.get(CHANGES, "{}"))
        rows = toy_case.rows(root, case, **changes)
        image = rows[0].image
        own = is_family(image)
        runner, note = choose(
            isolation,
            say,
            families=[image] if own else [],
            foreign={} if own else {image: f"cases/{case}/image.txt"},
        )
        loaded = load_case(root, case)
        return investigation.open_run(
            loaded,
            rows,
            runner,
            note=note,
            say=say,
            budget=Budget(budget),
            expose=(loaded.folder,),
        )

    workspace.find = lambda _start: root  # type: ignore[assignment]
    command.load_case = load_case  # type: ignore[assignment]
    command.begin = begin  # type: ignore[assignment]
    begin_again.load_case = load_case  # type: ignore[assignment,attr-defined]
    begin_again.plan = (  # type: ignore[attr-defined]
        lambda loaded: toy_case.rows(loaded.workspace, loaded.name)
    )


def main() -> None:
    """Run one command in the workspace that is named first."""
    root = Path(sys.argv.pop(1)).resolve()
    os.chdir(root)
    stand_in(root)
    from flows.cli import main as assay

    assay(prog_name="assay")


if __name__ == "__main__":
    main()
