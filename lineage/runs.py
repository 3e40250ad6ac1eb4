"""A run from its worktree to its tag. Two runs at once share the cache and nothing else."""

import json
import os
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from containers.owner import Owner
from lineage import atomic, git
from lineage.artifacts import open_artifact
from lineage.dvc_repo import DvcRepo, cache_of, link_types
from lineage.engine import NOTES
from lineage.fence import fence_or_skip
from lineage.provenance import Provenance, RunRecord
from lineage.run_tags import RunUnknown, list_runs, read_run, tag
from lineage.snapshot import MAX_BYTES, SnapshotRefused, snapshot

__all__ = [
    "Run",
    "RunUnknown",
    "SnapshotRefused",
    "abandon",
    "create",
    "finish",
    "list_runs",
    "open_artifact",
    "read_run",
    "reconcile",
]

RUNS = ".assay/runs"
ABANDONED_AFTER_S = 3600.0  # a run's folder with no owner in it: its maker died within milliseconds
COMMITTED = {"dvc.lock", "dvc.yaml", "run.json", ".gitignore", "params.yaml", "environments.yaml"}


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

    @property
    def folder(self) -> Path:
        """What is removed when the run ends."""
        return self.tree.parent


def create(
    workspace: Path,
    case: str,
    *,
    expose: Sequence[str],
    now: datetime,
    max_bytes: int = MAX_BYTES,
) -> Run:
    """Snapshot the workspace and open a worktree that shows everything but the other cases.

    Args:
        workspace: a git repository with a `.dvc` folder.
        case: the case under examination.
        expose: the case folders that stand in the worktree, as in `cases/digits`.
        now: when the run starts.
        max_bytes: how much of a dirty tree is taken into git.

    Raises:
        SnapshotRefused: the workspace cannot be snapshotted.
    """
    workspace = workspace.resolve()
    taken = snapshot(workspace, f"Snapshot for a run of {case}", max_bytes=max_bytes)
    started = now.astimezone(UTC)
    run_id, folder = _new_folder(workspace, case, started)
    run = Run(
        id=run_id,
        case=case,
        workspace=workspace,
        tree=folder / "tree",
        commit=taken.commit,
        parent=taken.parent,
        dirty=taken.dirty,
        started=started.isoformat(),
    )
    try:
        _note(run)
        shown = _check_out(run, expose)
        _set_up_dvc(run, shown)
    except BaseException:
        _remove(run)
        raise
    return run


def _new_folder(workspace: Path, case: str, started: datetime) -> tuple[str, Path]:
    runs = workspace / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    ignore = workspace / ".assay/.gitignore"
    if not ignore.exists():
        atomic.write(ignore, "*\n")
    while True:
        run_id = f"{started:%Y%m%dT%H%M%S}-{case}-{secrets.token_hex(2)}"
        used = git.text(workspace, "for-each-ref", f"refs/tags/run/{run_id}")
        try:
            (runs / run_id).mkdir()
        except FileExistsError:
            continue
        if not used:
            return run_id, runs / run_id
        (runs / run_id).rmdir()


def _note(run: Run) -> None:
    (run.folder / "owner").write_text(str(Owner.me()), encoding="utf-8")
    known = {
        "id": run.id,
        "case": run.case,
        "commit": run.commit,
        "parent": run.parent,
        "dirty": list(run.dirty),
        "started": run.started,
    }
    atomic.write(run.folder / "run.json", json.dumps(known))


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


def finish(run: Run, record: RunRecord) -> str:
    """Commit the locks and the record on top of what ran, tag that, and remove the worktree.

    Returns:
        The tag's name, `run/<id>`.
    """
    return _close(run, record)


def abandon(run: Run, record: RunRecord | None) -> str:
    """Close a run that failed or was cancelled: its finished stages stay traceable by its tag.

    Args:
        run: the run.
        record: what is known; None when nobody could write one.

    Returns:
        The tag's name, `run/<id>`.
    """
    return _close(run, record or _obituary(run))


def _close(run: Run, record: RunRecord) -> str:
    commit = run.commit
    if (run.tree / ".git").exists():
        atomic.write(
            run.tree / f"cases/{run.case}/run.json", record.model_dump_json(indent=2) + "\n"
        )
        commit = _commit(run, record)
    name = tag(run.workspace, commit, record)
    _remove(run)
    return name


def _commit(run: Run, record: RunRecord) -> str:
    listed = git.run(
        run.tree, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"
    )
    changed = [os.fsdecode(line[3:]) for line in listed.split(b"\0") if line]
    index = git.text(run.tree, "rev-parse", "--path-format=absolute", "--git-path", "index")
    return git.commit_files(
        run.tree,
        base=run.commit,
        index=Path(index),
        paths=[path for path in changed if path.rpartition("/")[2] in COMMITTED],
        message=f"Run {record.id}: {record.state}\n",
    )


def _remove(run: Run) -> None:
    if Path.cwd().is_relative_to(run.tree):
        os.chdir(run.workspace)  # a process in a folder that is gone can start nothing
    try:
        git.run(run.workspace, "worktree", "remove", "--force", str(run.tree))
    except git.GitError:
        shutil.rmtree(run.tree, ignore_errors=True)
        git.run(run.workspace, "worktree", "prune", "--expire", "now")
    shutil.rmtree(run.folder, ignore_errors=True)


def reconcile(workspace: Path) -> tuple[str, ...]:
    """Close the runs whose process is dead; returns their ids. One process at a time does this."""
    workspace = workspace.resolve()
    runs = workspace / RUNS
    if not runs.is_dir():
        return ()
    with fence_or_skip(workspace / ".assay/reconcile.lock") as mine:
        return tuple(
            folder.name for folder in sorted(runs.iterdir()) if mine and _is_closed(folder)
        )


def _is_closed(folder: Path) -> bool:
    try:
        owner = Owner.parse((folder / "owner").read_text(encoding="utf-8"))
    except OSError:
        if time.time() - folder.stat().st_mtime > ABANDONED_AFTER_S:
            shutil.rmtree(folder, ignore_errors=True)
        return False
    if owner is None or not owner.is_dead():
        return False
    workspace = folder.parents[2]
    try:
        known = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it died before it had begun
        shutil.rmtree(folder, ignore_errors=True)
        return False
    known["dirty"] = tuple(known["dirty"])
    abandon(Run(**known, workspace=workspace, tree=folder / "tree"), None)
    return True


def _obituary(run: Run) -> RunRecord:
    notes = sorted((run.tree / NOTES).glob("*.json"), key=lambda path: path.stat().st_mtime)
    stages = [Provenance.model_validate_json(note.read_bytes()) for note in notes]
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
        stages=stages,
        error=f"{told} Resume it: assay run {run.case}",
    )
