"""What would be done for each stage, without doing it; DVC's own `--dry` is wrong downstream."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lineage.dvc_repo import DvcRepo
from lineage.row import Row

Status = Literal["current", "restorable", "stale"]


def status(repo: DvcRepo, rows: Sequence[Row]) -> dict[str, Status]:
    """Say current, restorable or stale of each row.

    A stage whose inputs are not there yet is judged by what its earlier stages would restore; after
    a stale one nothing is known, so all that reads it is stale too.
    """
    verdicts: dict[str, Status] = {}
    restored: dict[str, Any] = {}  # path -> what an earlier stage would restore there
    for row in ordered(rows):
        upstream = [other for other in rows if other.name != row.name and _reads(row, other)]
        if any(verdicts.get(other.name) == "stale" for other in upstream):
            verdicts[row.name] = "stale"
            continue
        asked = {path for other in rows for path in other.inputs.values() if path}
        verdicts[row.name], outputs = _judge(repo, row, restored, asked)
        restored.update(outputs)
    return {row.name: verdicts[row.name] for row in rows}


def _judge(
    repo: DvcRepo, row: Row, restored: Mapping[str, Any], asked: set[str]
) -> tuple[Status, Mapping[str, Any]]:
    stage = repo.stage(row)
    deps = {path: restored.get(path, found) for path, found in repo.deps(stage).items()}
    if any(found is None for found in deps.values()):
        return "stale", {}
    repo.set_deps(stage, deps)
    for found in repo.candidates(row, repo.entry(stage)):
        repo.set_outs(stage, found.entry)
        if found.locked and repo.in_place(stage):
            return "current", {}
        if repo.in_cache(stage):
            return "restorable", repo.members(stage, asked)
    return "stale", {}


def _reads(row: Row, other: Row) -> bool:
    return any(
        path == other.folder or path.startswith(f"{other.folder}/")
        for path in row.inputs.values()
        if path
    )


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Return the rows so that each stands after those whose outputs it reads."""
    done: list[Row] = []
    waiting = list(rows)
    while waiting:
        free = [
            row
            for row in waiting
            if not any(_reads(row, other) for other in waiting if other is not row)
        ]
        if not free:
            names = ", ".join(row.name for row in waiting)
            raise ValueError(f"These stages read each other in a circle: {names}.")
        done += free
        waiting = [row for row in waiting if row not in free]
    return done
