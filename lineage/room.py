"""How much room runs take: what they will need, what is free, and what this host lets them have."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage import git, yaml12
from lineage.disk import free_bytes
from lineage.run_tags import PREFIX, case_of

SEEN = 2
"""So many of a case's newest runs tell how large its outputs are."""

QUOTAS = {"cache": "assay.cachequota", "runs": "assay.runsquota"}
"""Keys of git's configuration: a disk is the host's, so that no committed file says how large."""


class NoRoom(Exception):  # noqa: N818 - reads as the fact that it is
    """A run would not fit; the message names the place, what is needed and how to make room."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One place that runs fill."""

    name: str  # cache, or runs: worktrees, logs, reports
    folder: Path
    free_bytes: int
    quota_bytes: int | None = None
    used_bytes: int | None = None  # measured only where there is a quota: it takes a walk

    def left_bytes(self) -> int:
        """Return what may still be written: by the disk and by the quota."""
        if self.quota_bytes is None or self.used_bytes is None:
            return self.free_bytes
        return min(self.free_bytes, self.quota_bytes - self.used_bytes)


def rooms(workspace: Path) -> tuple[Room, Room]:
    """Return the cache's room and that of worktrees.

    Raises:
        NoRoom: a quota is no size.
    """
    from lineage.dvc_repo import cache_of

    return _room(workspace, "cache", cache_of(workspace)), _room(
        workspace, "runs", workspace / ".assay"
    )


def _room(workspace: Path, name: str, folder: Path) -> Room:
    quota = _quota(workspace, QUOTAS[name])
    used = None if quota is None else size_bytes(folder, linked=name == "cache")
    free = free_bytes(folder)
    return Room(name=name, folder=folder, free_bytes=free, quota_bytes=quota, used_bytes=used)


def _quota(workspace: Path, key: str) -> int | None:
    try:
        stated = git.text(workspace, "config", "--get", key)
    except git.GitError:
        return None  # nobody has stated one
    try:
        return int(git.text(workspace, "config", "--type=int", "--get", key))
    except git.GitError:
        raise NoRoom(
            f"git config {key}: a quota is a size, as in 500m or 20g. Got: {stated}."
        ) from None


def size_bytes(folder: Path, *, linked: bool) -> int:
    """Return what a folder takes on its disk; what is linked to elsewhere only where asked for."""
    total, todo = 0, [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if linked or status.st_nlink == 1:
                        total += status.st_blocks * 512
        except FileNotFoundError:
            continue  # another run has just removed it
    return total


def stage_bytes(workspace: Path, case: str) -> Mapping[str, int]:
    """Return {stage: size of its outputs} as the case's newest runs had them; empty: no run yet."""
    listed = git.text(
        workspace, "for-each-ref", "--sort=-refname", "--format=%(refname:lstrip=3)",
        f"{PREFIX}*-{case}-*",
    )  # fmt: skip
    newest = [run for run in listed.split() if case_of(run) == case][:SEEN]
    found: dict[str, int] = {}
    for run in newest:
        for name, size in _sizes(workspace, run).items():
            found.setdefault(name, size)
    return found


def _sizes(workspace: Path, run: str) -> dict[str, int]:
    try:
        text = git.run(
            workspace, "cat-file", "blob", f"{PREFIX}{run}:cases/{case_of(run)}/dvc.lock"
        )
    except git.GitError:
        return {}
    lock: Any = yaml12.load(text.decode()) or {}
    return {
        name: sum(int(out.get("size") or 0) for out in entry.get("outs") or ())
        for name, entry in (lock.get("stages") or {}).items()
    }


def tree_bytes(workspace: Path, commit: str = "HEAD") -> int:
    """Return the size of a commit's files: what a worktree holds before a stage runs."""
    listed = git.run(workspace, "ls-tree", "-r", "-z", "--format=%(objectsize)", commit)
    return sum(int(size) for size in listed.split(b"\0") if size.strip().isdigit())


def check(workspace: Path, needs: Mapping[str, int], why: str, names: Collection[Room]) -> None:
    """Hold what a run needs against what is left.

    Args:
        workspace: the repository.
        needs: room -> bytes.
        why: where the figures are from.
        names: the rooms.

    Raises:
        NoRoom: it would not fit.
    """
    for room in names:
        same = [other for other in names if _device(other.folder) == _device(room.folder)]
        on_disk = sum(needs[other.name] for other in same)
        if on_disk > room.free_bytes:
            raise NoRoom(
                f"The run would not fit: it needs about {_mib(on_disk)} ({why}), and the disk of "
                f"{room.folder} has {_mib(room.free_bytes)} free. {_make_room(workspace)}"
            )
        # What adds nothing is no fault of a quota that is passed already: an answer is restored.
        if room.quota_bytes is not None and needs[room.name] > max(0, room.left_bytes()):
            raise NoRoom(
                f"The run would not fit: it needs about {_mib(needs[room.name])} ({why}), and "
                f"{room.folder} holds {_mib(room.used_bytes or 0)} of its quota of "
                f"{_mib(room.quota_bytes)} (git config {QUOTAS[room.name]}). "
                f"{_make_room(workspace)}"
            )


def _make_room(workspace: Path) -> str:
    return f"Make room: `assay prune --keep 5` drops what older runs of {workspace.name} keep."


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _device(folder: Path) -> int:
    there = next(one for one in (folder, *folder.parents) if one.exists())
    return there.stat().st_dev
