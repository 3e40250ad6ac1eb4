"""A run that somebody else made: what of it would run on this machine, in no container?"""

import re
from pathlib import Path

from lineage import git
from lineage.clean_clone import LOGS
from lineage.provenance import RunRecord

HARMLESS = re.compile(r"(cases|data_contracts|docs)/.*|(params|environments)\.yaml|[A-Z]+\.md")
"""What a program is not made of: a case's code runs where its stages run."""
SHOWN = 3


class ForeignRun(Exception):  # noqa: N818  reads as the fact that it is
    """Repeating a run would run somebody else's code with all of your rights."""

    exit_status = 2


def refuse_foreign_program(workspace: Path, record: RunRecord) -> None:
    """Refuse a run whose repetition runs here what this branch does not hold.

    Raises:
        ForeignRun: its program is another one, or its stages ran in no container.
    """
    if is_own(workspace, record):
        return
    changed = _changed(workspace, record.commit)
    if changed:
        more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise ForeignRun(
            f"Run {record.id} was not made here, and its program is not that of your branch: "
            f"{', '.join(changed[:SHOWN])}{more}. Repeating it runs that program as you, in no "
            f"container. Read it (git show {record.commit[:12]}), then: "
            f"assay reproduce {record.id} --trust"
        )
    refuse_foreign_process(workspace, record, record.isolation, "assay reproduce {} --trust")


def refuse_foreign_process(
    workspace: Path, record: RunRecord, isolation: str, allowed: str
) -> None:
    """Refuse to run a case's code of somebody else's run as a process because that run says so.

    Raises:
        ForeignRun: so it is; `allowed` is what to type, with {} for the run.
    """
    if isolation == "docker" or is_own(workspace, record):
        return
    raise ForeignRun(
        f"Run {record.id} was not made here, and ran as processes: its case's code would run as "
        f"you, in no container. If you trust it: {allowed.format(record.id)}"
    )


def is_own(workspace: Path, record: RunRecord) -> bool:
    """Tell a run that was made here: its logs never leave the machine."""
    return (workspace / LOGS / record.id).is_dir()


def _changed(workspace: Path, commit: str) -> list[str]:
    """Return the files in which a commit's program differs from what this branch holds of it."""
    try:
        base = git.text(workspace, "merge-base", "HEAD", commit).strip()
    except git.GitError:
        return ["all of it, as it shares no commit with your branch"]
    words = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, commit)
    names = git.run(workspace, *words).decode(errors="replace").split("\0")
    return [name for name in names if name and not HARMLESS.fullmatch(name)]
