"""Lets go of runs that nobody keeps, and of what in the cache no kept run needs.

Only what a dropped run made is ever removed. Raw data stays, and so does all that is named by a
kept run, by a lock or `.dvc` file of the workspace, or by one at the tip of a branch or other tag.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from containers.owner import Owner
from lineage import cache_users, git, waivers
from lineage.artifacts import REPORTS
from lineage.cache_objects import place
from lineage.clean_clone import CLONES, LOGS
from lineage.dvc_repo import DvcRepo, cache_of
from lineage.execute import RUNS
from lineage.fence import pruning
from lineage.git_blobs import read_blobs
from lineage.objects import DIR, Named, members, run_objects
from lineage.provenance import RunRecord
from lineage.run_tags import PREFIX, find, list_ids, list_runs, note_pruned, tag_name

MAX_DAYS = 36_500
"""A hundred years: what is longer would keep all, and more than a date can tell is no time."""

_HASH = re.compile(r"md5: ([0-9a-f]{32}(?:\.dir)?)\b")


class PruneRefused(Exception):  # noqa: N818 - reads as the fact that it is
    """It would not be safe, or nothing says what to keep; the message says what to do."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What is kept; a run that any of these names stays."""

    newest: int | None = None  # of each case
    days: float | None = None
    runs: tuple[str, ...] = ()  # as for `find`


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would go, and why the rest stays."""

    kept: Mapping[str, str]  # id -> why
    dropped: tuple[RunRecord, ...]
    objects: Mapping[str, int]  # hash -> bytes
    entries: tuple[Path, ...]  # of the run cache: each names an object that goes
    cache: Path

    @property
    def size_bytes(self) -> int:
        """How much of the cache goes."""
        return sum(self.objects.values())


def plan(workspace: Path, keep: Keep, now: datetime, *, alone: bool = False) -> Plan:
    """Say what would be dropped, and change nothing.

    Args:
        workspace: the repository.
        keep: what stays.
        now: the time from which days are counted.
        alone: no other workspace uses this one's cache, though it lies elsewhere or holds marks.

    Raises:
        PruneRefused: nothing says what to keep, the cache or the tags may be another's too, or a
            kept run's folder cannot be listed.
        RunUnknown: a run that is to be kept is unknown.
    """
    workspace = workspace.resolve()
    cache = cache_of(workspace).resolve()
    if not cache.is_relative_to(workspace) and not alone:
        raise PruneRefused(
            f"The cache {cache} lies outside of this workspace: others may use it, and what their "
            "runs need is not known here. If none does, say so: --alone"
        )
    _refuse_other_worktrees(workspace)
    for mark, other in () if alone else cache_users.others(workspace, cache):
        raise PruneRefused(
            f"The workspace {other} uses this one's cache {cache}, and what its runs need is not "
            f"known here. If it needs nothing of it any more, remove its mark {mark}, or say that "
            "no other does: --alone"
        )
    kept = _kept(workspace, keep, now)
    dropped = tuple(run for run in list_runs(workspace) if run.id not in kept)
    known = run_objects(workspace, list_ids(workspace), cache)
    for run_id in kept:
        for path in known[run_id].unlisted.values():
            raise PruneRefused(
                f"Run {run_id} is kept, and the cache has lost the list of its {path}: what it "
                f"needs is not known. Bring it back (assay pull {run_id}), or do not keep that run."
            )
    raw = _raw(one.named for one in known.values())
    needed = {md5 for run_id in kept for md5 in known[run_id].names}
    gone = droppable(
        [set(known[run.id].names) for run in dropped],
        needed | _listed(cache, {*raw, *_named_elsewhere(workspace)}),
    )
    sizes = {md5: _size(place(cache, md5)) for md5 in gone}
    present = {md5: size for md5, size in sizes.items() if size is not None}
    return Plan(
        kept=kept,
        dropped=dropped,
        objects=present,
        entries=tuple(_entries(cache, gone)),
        cache=cache,
    )


def _refuse_other_worktrees(workspace: Path) -> None:
    """Refuse where another worktree has the same tags: its runs would look like this one's."""
    ours = (workspace, workspace / RUNS, workspace / CLONES)
    listed = git.run(workspace, "worktree", "list", "--porcelain", "-z").split(b"\0\0")
    for entry in filter(None, listed):
        first, *about = entry.split(b"\0")
        path = Path(os.fsdecode(first.removeprefix(b"worktree "))).resolve()
        if b"bare" in about or not path.is_dir() or path == ours[0]:
            continue
        if not any(path.is_relative_to(folder) for folder in ours[1:]):
            added = workspace if entry == listed[0] else path  # git lists the main one first
            raise PruneRefused(
                f"{path} is another worktree of this repository: both have the same tags of runs, "
                "each has its own cache, and what is dropped here would be dropped there. Work in "
                f"a clone of its own instead of {added} (git clone); once it is removed "
                f"(git worktree remove {added}), prune."
            )


def droppable(dropped: Iterable[set[str]], needed: set[str]) -> set[str]:
    """Return what only dropped runs refer to."""
    return set[str]().union(*dropped) - needed


def prune(workspace: Path, keep: Keep, now: datetime, *, alone: bool = False) -> Plan:
    """Drop what `plan` says; killed on the way, the same command finishes it.

    Raises:
        PruneRefused: as `plan`, or a run is under way.
    """
    workspace = workspace.resolve()
    repo = DvcRepo(workspace)
    try:
        with pruning(workspace), repo.locked():
            refuse_while_running(workspace)
            todo = plan(workspace, keep, now, alone=alone)
            for entry in todo.entries:
                entry.unlink(missing_ok=True)
            # A folder's list last: whoever finishes this must still know its members.
            for md5 in sorted(todo.objects, key=lambda md5: (md5.endswith(DIR), md5)):
                place(todo.cache, md5).unlink(missing_ok=True)
            for run in todo.dropped:
                _forget(workspace, run)
    finally:
        repo.close()
    return todo


def refuse_while_running(workspace: Path) -> None:
    """Refuse where a run is under way: it may restore any object at any time.

    Raises:
        PruneRefused: one is; it is named.
    """
    for folder in sorted((workspace / RUNS).glob("*")):
        try:
            owner = Owner.parse((folder / "owner").read_text(encoding="utf-8"))
        except OSError:
            continue
        if owner is not None and not owner.is_dead():
            raise PruneRefused(
                f"Run {folder.name} is under way ({owner.in_words()}), and may restore any object "
                "of the cache. Wait until it has ended, then prune."
            )
        if owner is not None:
            raise PruneRefused(
                f"Run {folder.name} died and is not closed yet. `assay run {_case(folder)}` closes "
                "it; then prune."
            )


def _case(folder: Path) -> str:
    return folder.name.partition("-")[2].rpartition("-")[0]


def _kept(workspace: Path, keep: Keep, now: datetime) -> dict[str, str]:
    if keep.newest is None and keep.days is None and not keep.runs:
        raise PruneRefused("What is to be kept? --keep N, --keep-days D or --keep-run RUN.")
    if keep.days is not None and not 0 <= keep.days <= MAX_DAYS:
        raise PruneRefused(f"--keep-days takes 0 to {MAX_DAYS} days. Got: {keep.days:g}.")
    # By the moment: ids tell seconds, and two runs may begin in one.
    runs = sorted(list_runs(workspace), key=lambda run: (run.started, run.id), reverse=True)
    kept = {find(workspace, which): "named" for which in keep.runs}
    granted = waivers.all_of(workspace)
    for run in runs:
        if waivers.holding(granted, run.id, now.astimezone(UTC).date()):
            kept.setdefault(run.id, "waived")
        if keep.days is not None and _ended(run) >= now - timedelta(days=keep.days):
            kept.setdefault(run.id, f"of the last {keep.days:g} days")
    for case in {run.case for run in runs}:
        mine = [run for run in runs if run.case == case]
        for run in mine[: keep.newest or 0]:
            kept.setdefault(run.id, f"among the {keep.newest} newest of {case}")
        # Whatever is asked for: a case never loses its last answer.
        for run in [run for run in mine if run.state == "done"][:1]:
            kept.setdefault(run.id, f"the last finished of {case}")
    # A tag that no record can be read of is not ours to judge.
    known = {run.id for run in runs}
    return kept | {run_id: "unread" for run_id in list_ids(workspace) if run_id not in known}


def _ended(run: RunRecord) -> datetime:
    try:
        ended = datetime.fromisoformat(run.ended)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)  # unknown: it is kept
    return ended if ended.tzinfo else ended.replace(tzinfo=UTC)


def _raw(named: Iterable[Iterable[Named]]) -> set[str]:
    return {one.md5 for some in named for one in some if one.stage is None}


def _listed(cache: Path, names: set[str]) -> set[str]:
    """Return hashes with the members of those that are folders."""
    inside = (members(cache, md5) or {} for md5 in names if md5.endswith(DIR))
    return names.union(*(set(one.values()) for one in inside))


def _named_elsewhere(workspace: Path) -> set[str]:
    """Return what the workspace's own files name, and those at the tips of branches and tags."""
    found: set[str] = set()
    asked = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.dvc")
    listed = git.run(workspace, *asked).split(b"\0")
    files = [workspace / os.fsdecode(name) for name in listed if name]
    files += [*workspace.glob("dvc.lock"), *workspace.glob("cases/*/dvc.lock")]
    for path in filter(Path.is_file, files):
        found.update(_HASH.findall(path.read_text(encoding="utf-8", errors="replace")))
    known = git.text(workspace, "for-each-ref", "--format=%(refname)")
    refs = [ref for ref in known.split() if not ref.startswith((PREFIX, waivers.PREFIX))]
    for ref in ("HEAD", *refs):
        try:
            said = git.run(workspace, "ls-tree", "-r", "-z", "--name-only", ref).decode()
        except git.GitError:
            continue  # a ref that names no tree
        names = [name for name in said.split("\0") if name.endswith((".dvc", "dvc.lock"))]
        plain = [name for name in names if "\n" not in name]
        for blob in read_blobs(workspace, [f"{ref}:{name}" for name in plain]):
            found.update(_HASH.findall((blob or b"").decode(errors="replace")))
    return found


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _entries(cache: Path, gone: set[str]) -> Iterator[Path]:
    """Yield what the run cache says of objects that go, and the provenance kept beside it."""
    for path in (cache / "runs").glob("??/*/*"):
        if not path.is_file():
            continue
        _, _, outs = path.read_text(encoding="utf-8", errors="replace").partition("outs:")
        if gone.intersection(_HASH.findall(outs)):
            yield path
            yield cache / "assay" / path.parent.parent.name / f"{path.parent.name}/{path.name}.json"


def _forget(workspace: Path, run: RunRecord) -> None:
    if run.look:
        note_pruned(workspace, run)  # a look at held-out rows is not undone by forgetting it
    listed = git.text(
        workspace, "for-each-ref", "--format=%(refname:lstrip=2)", f"{waivers.PREFIX}{run.id}/"
    )
    git.run(workspace, "tag", "--delete", tag_name(run.id), *listed.split())
    shutil.rmtree(workspace / REPORTS / run.id, ignore_errors=True)
    shutil.rmtree(workspace / LOGS / run.id, ignore_errors=True)
