"""Before a run begins: will it fit? A run that cannot is refused before it has cost anything."""

from collections.abc import Callable, Collection
from pathlib import Path

from lineage.room import check, rooms, stage_bytes, tree_bytes
from lineage.row import Row

UNKNOWN_BYTES = 8 * 2**20
"""What a stage's outputs are assumed to take where no run has made them yet."""

SPARE_BYTES = 32 * 2**20
"""Logs, the state of git and DVC, and what a stage writes beside its outputs."""


def fits(
    workspace: Path, case: str, rows: Collection[Row], todo: Callable[[], Collection[str]]
) -> None:
    """Refuse a run that would not fit on the disks of cache and worktrees, or into their quotas.

    Args:
        workspace: the repository.
        case: the case.
        rows: its stages.
        todo: says which of them are not in the cache; asked only where not all would fit.

    Raises:
        NoRoom: it would not.
    """
    places = rooms(workspace)
    known = stage_bytes(workspace, case)
    tree = tree_bytes(workspace) + SPARE_BYTES

    def needs(names: Collection[str]) -> dict[str, int]:
        made = sum(known.get(name, UNKNOWN_BYTES) for name in names)
        return {"cache": made, "runs": tree}

    everything = needs([row.name for row in rows])
    if all(sum(everything.values()) <= place.left_bytes() for place in places):
        return
    names = todo()
    of = "as its last runs" if known else f"assumed: {UNKNOWN_BYTES / 2**20:.0f} MiB a stage"
    check(workspace, needs(names), f"{len(names)} stages, {of}", places)
