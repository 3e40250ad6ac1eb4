"""A run from its worktree to its tag. Two runs at once share the cache and nothing else."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from containers.owner import Owner
from containers.reap import reap
from lineage import atomic, disk, git
from lineage.artifacts import open_artifact
from lineage.cache_sweep import sweep
from lineage.cache_users import mark
from lineage.dvc_repo import DvcRepo, cache_of
from lineage.dvc_yaml import ENVIRONMENTS
from lineage.engine import NOTES
from lineage.execute import RUNS
from lineage.fence import fence_or_skip, not_while_pruning, one_begins
from lineage.hostile import refuse_links
from lineage.link_types import link_types
from lineage.provenance import Provenance, RunRecord
from lineage.run_ids import new_id
from lineage.run_tags import RunUnknown, list_runs, read_run, tag, tag_exists, tag_name
from lineage.snapshot import MAX_BYTES, Snapshot, SnapshotRefused, refuse_submodules, snapshot

__all__ = [
    "Run",
    "RunUnknown",
    "SnapshotRefused",
    "close",
    "create",
    "discard",
    "list_runs",
    "note_flow_run",
    "open_artifact",
    "read_run",
    "reconcile",
]

DEBTS = ".assay/debts"
"""A file a flow run (or a run that did not know its own) of whose end Prefect's server has not
heard; `flows.flow_states` pays them."""

MAKING = ".assay/making"
"""Where a run's folder is until all that names it stands in it; its owner is part of its name."""
COMMITTED = {"dvc.lock", "dvc.yaml", "graph.json", "run.json", ".gitignore"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run under way."""

    id: str
    case: str
    workspace: Path
    tree: Path  # its worktree; the process moves into it
    commit: str  # what runs: the user's commit, or a snapshot of their dirty tree
    parent: str  # the user's commit
    dirty: tuple[str, ...]
    started: str
    trigger: Mapping[str, Any] | None = None  # how it was started

    @property
    def folder(self) -> Path:
        """What is removed when the run ends."""
        return self.tree.parent

    @property
    def logs(self) -> Path:
        """Where its stages' logs stand; they stay."""
        return self.workspace / ".assay/logs" / self.id


def create(
    workspace: Path,
    case: str,
    *,
    expose: Sequence[str],
    now: datetime,
    taken: Snapshot | None = None,
    trigger: Mapping[str, Any] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Run:
    """Snapshot the workspace and open a worktree that shows everything but the other cases.

    Args:
        workspace: a git repository with a `.dvc` folder.
        case: the case under examination.
        expose: the case folders that stand in the worktree, as in `cases/digits`.
        now: when the run starts.
        taken: what to run, of an earlier run; None: the workspace as it stands.
        trigger: how it was started.
        max_bytes: how much of a dirty tree is taken into git.

    Raises:
        SnapshotRefused: the workspace cannot be snapshotted.
        DiskRefuses: there is no room for it.
    """
    with disk.writes("The folder of runs", workspace / RUNS):
        workspace = workspace.resolve()
        if taken is None:
            taken = snapshot(workspace, f"Snapshot for a run of {case}", max_bytes=max_bytes)
            refuse_submodules(workspace, taken.commit, expose)
        return _create(workspace, case, expose, now, taken, trigger=trigger)


def _create(
    workspace: Path,
    case: str,
    expose: Sequence[str],
    now: datetime,
    taken: Snapshot,
    *,
    trigger: Mapping[str, Any] | None,
) -> Run:
    started = now.astimezone(UTC)
    refuse_links(workspace, taken.commit)
    with not_while_pruning(workspace), one_begins(workspace):
        run_id = new_id(workspace, case, started)
        run = Run(
            id=run_id,
            case=case,
            workspace=workspace,
            tree=workspace / RUNS / run_id / "tree",
            commit=taken.commit,
            parent=taken.parent,
            dirty=taken.dirty,
            started=started.isoformat(),
            trigger=trigger,
        )
        _make_folder(run)
    try:
        with disk.writes("The folder of runs", run.folder.parent):
            run.logs.mkdir(parents=True, exist_ok=True)  # they tell a run that was made here
            shown = _check_out(run, expose)
            _set_up_dvc(run, shown)
    except BaseException:
        _remove(run)
        raise
    return run


def _make_folder(run: Run) -> None:
    """Make a run's folder in one step: whoever sees it knows whose it is."""
    ignore = run.workspace / ".assay/.gitignore"
    if not ignore.exists():
        atomic.write(ignore, "*\n")
    owner = str(Owner.me())
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    making = run.workspace / MAKING / f"{owner}|{run.id}"
    making.mkdir(parents=True)
    atomic.write(making / "owner", owner)
    known = {
        "id": run.id,
        "case": run.case,
        "commit": run.commit,
        "parent": run.parent,
        "dirty": list(run.dirty),
        "started": run.started,
        "trigger": run.trigger,
    }
    atomic.write(making / "run.json", json.dumps(known))
    making.rename(run.folder)


def note_flow_run(run: Run, flow_run_id: str) -> None:
    """Write down which of Prefect's flow runs this is, for whoever closes it if it is killed.

    Where a person had it tried again, nothing is owed any more of how its former try ended.
    """
    atomic.write(run.folder / "flow_run", flow_run_id)
    (run.workspace / DEBTS / flow_run_id).unlink(missing_ok=True)


def _flow_run_of(run: Run) -> str | None:
    try:
        return (run.folder / "flow_run").read_text(encoding="utf-8") or None
    except OSError:
        return None


def _check_out(run: Run, expose: Sequence[str]) -> list[str]:
    """Open the worktree and return the files that it shows.

    The hidden files are marked in the worktree's index. `git sparse-checkout` would do the same,
    but would first switch a setting of the user's repository.
    """
    git.run(
        run.workspace, "worktree", "add", "--no-checkout", "--detach", str(run.tree), run.commit
    )
    git.run(run.tree, "read-tree", "HEAD")
    names = [os.fsdecode(name) for name in git.run(run.tree, "ls-files", "-z").split(b"\0") if name]
    roots = tuple(f"{folder}/" for folder in expose)
    hidden = [
        name
        for name in names
        if name.startswith("cases/") and name.count("/") > 1 and not name.startswith(roots)
    ]
    if hidden:
        listed = b"".join(os.fsencode(name) + b"\0" for name in hidden)
        git.run(run.tree, "update-index", "--skip-worktree", "-z", "--stdin", input_=listed)
    git.run(run.tree, "checkout-index", "--all", "--index", "--quiet")
    return sorted(set(names) - set(hidden))


def _set_up_dvc(run: Run, shown: list[str]) -> None:
    cache = cache_of(run.workspace).resolve()
    mark(run.workspace, cache)
    local = run.tree / ".dvc/config.local"
    local.parent.mkdir(exist_ok=True)
    local.write_text(
        f"[cache]\n    dir = {cache}\n    type = {link_types(cache)}\n"
        f"[core]\n    site_cache_dir = {run.folder / 'site'}\n    autostage = false\n",
        encoding="utf-8",
    )
    data = [name for name in shown if name.endswith(".dvc")]
    if data:
        repo = DvcRepo(run.tree)
        with repo.locked():
            repo.checkout_data(data)
        repo.close()


def close(run: Run, record: RunRecord | None) -> str:
    """Commit the locks and the record on top of what ran, tag that, and remove the worktree.

    A run that failed or was cancelled keeps its finished stages by its tag too. To close a run
    again is harmless: the first tag stands.

    Args:
        run: the run.
        record: how it ended; None when nobody could write one.

    Returns:
        The tag's name, `run/<id>`.

    Raises:
        DiskRefuses: there is no room for a tag; the next start closes the run.
    """
    with disk.writes("The repository", run.workspace):
        return _close(run, record)


def _close(run: Run, record: RunRecord | None) -> str:
    if not tag_exists(run.workspace, run.id):
        if record is None:
            record = _obituary(run)
        tag(run.workspace, _commit(run, record), record)
    _remove(run)
    return tag_name(run.id)


def _commit(run: Run, record: RunRecord) -> str:
    """Return a commit of what the run made; the run's own where its worktree was lost."""
    if not (run.tree / ".git").exists():
        return run.commit
    atomic.write(run.tree / f"cases/{run.case}/run.json", record.model_dump_json(indent=2) + "\n")
    listed = git.run(
        run.tree, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"
    )
    changed = [os.fsdecode(line[3:]) for line in listed.split(b"\0") if line]
    made = [path for path in changed if path.rpartition("/")[2] in COMMITTED]
    if (run.tree / ENVIRONMENTS).exists():
        made.append(ENVIRONMENTS)  # .gitignore hides it, as it is the host's; a run's is history
    # An index of its own: the worktree's may be locked by a git that was killed.
    with tempfile.TemporaryDirectory(dir=run.folder) as folder:
        index = Path(folder) / "index"
        git.run(run.tree, "read-tree", run.commit, environment={"GIT_INDEX_FILE": str(index)})
        return git.commit_files(
            run.tree,
            base=run.commit,
            index=index,
            paths=made,
            message=f"Run {record.id}: {record.state}\n",
        )


def discard(run: Run) -> None:
    """Remove a run that has not begun: it leaves no tag."""
    _remove(run)
    with suppress(OSError):
        run.logs.rmdir()


def _remove(run: Run) -> None:
    try:
        inside = Path.cwd().is_relative_to(run.tree)
    except FileNotFoundError:
        inside = True
    if inside:
        os.chdir(run.workspace)  # a process in a folder that is gone can start nothing
    try:
        git.run(run.workspace, "worktree", "remove", "--force", str(run.tree))
    except git.GitError:
        shutil.rmtree(run.tree, ignore_errors=True)
        git.run(run.workspace, "worktree", "prune", "--expire", "now")
    shutil.rmtree(run.folder, ignore_errors=True)


def reconcile(workspace: Path, say: Callable[[str], None] = lambda _line: None) -> tuple[str, ...]:
    """Close the runs whose process is dead, and end what they left running.

    One process at a time does this. A dead run that cannot be closed stops no other: it is told to
    `say`, and tried again at the next start.

    Returns:
        The ids of the runs that were closed.
    """
    workspace = workspace.resolve()
    if not (workspace / ".assay").is_dir():
        return ()
    with fence_or_skip(workspace / ".assay/reconcile.lock") as mine:
        if not mine:
            return ()
        reap(workspace)  # first: an orphan may still write into a dead run's folder
        _sweep(workspace / MAKING)
        folders = sorted((workspace / RUNS).glob("*"))
        closed = tuple(folder.name for folder in folders if _is_closed(workspace, folder, say))
        if closed:
            cache = cache_of(workspace).resolve()
            sweep(cache, shared=not cache.is_relative_to(workspace))
        return closed


def _sweep(making: Path) -> None:
    """Remove what never became a run."""
    for folder in making.glob("*|*"):
        owner = Owner.parse(folder.name.rpartition("|")[0])
        if owner is None or owner.is_dead():
            shutil.rmtree(folder, ignore_errors=True)


def _is_closed(workspace: Path, folder: Path, say: Callable[[str], None]) -> bool:
    try:
        run = _dead(workspace, folder)
        if run is not None:
            told = f"CRASHED\nRun {run.id}: its process ended without a word."
            atomic.write(workspace / DEBTS / (_flow_run_of(run) or run.id), told)
            close(run, None)
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, a living run goes on
        say(f"{folder} is of a dead run and could not be closed: {error}. It is tried again later.")
        return False
    return run is not None


def _dead(workspace: Path, folder: Path) -> Run | None:
    """Return the run of a folder whose owner is dead; removes what never became a run."""
    try:
        owner = Owner.parse((folder / "owner").read_text(encoding="utf-8"))
    except FileNotFoundError:
        owner = None
    if owner is not None and not owner.is_dead():
        return None
    try:
        known = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # a power cut left nothing in it
        shutil.rmtree(folder, ignore_errors=True)
        return None
    known["dirty"] = tuple(known["dirty"])
    return Run(**known, workspace=workspace, tree=folder / "tree")


def _obituary(run: Run) -> RunRecord:
    notes = sorted((run.tree / NOTES).glob("*.json"), key=lambda path: path.stat().st_mtime)
    stages = [stage for stage in map(_noted, notes) if stage is not None]
    told = f"Its process ended without a word, after {len(stages)} stages."
    return RunRecord(
        id=run.id,
        case=run.case,
        state="failed",
        sentence=told,
        commit=run.commit,
        parent=run.parent,
        dirty=list(run.dirty),
        isolation=next((stage.isolation for stage in stages if stage.isolation), "unknown"),
        started=run.started,
        ended=datetime.now(UTC).isoformat(),
        flow_run_id=_flow_run_of(run),
        trigger=dict(run.trigger) if run.trigger else None,
        stages=stages,
        error=f"{told} Resume it: assay run {run.case}",
    )


def _noted(note: Path) -> Provenance | None:
    try:
        return Provenance.model_validate_json(note.read_bytes())
    except ValidationError:  # a power cut left half of it
        return None
