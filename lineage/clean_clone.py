"""A clone that holds one run's commit and its raw data, and nothing that was ever computed."""

import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path

from containers.owner import Owner, started
from containers.reap import reap
from lineage import atomic, git
from lineage.cache_objects import place
from lineage.cache_writes import cache_writes
from lineage.dvc_repo import cache_of
from lineage.fence import not_while_pruning
from lineage.hostile import refuse_links
from lineage.objects import members, run_objects
from lineage.provenance import RunRecord
from lineage.run_tags import PREFIX, tag

CLONES = ".assay/reproduce"
LOGS = ".assay/logs"
ABANDONED_AFTER_S = 3600.0
END_S = 60.0  # for a run's stages to end before it is killed


class RawDataMissing(Exception):  # noqa: N818 - reads as the fact that it is
    """The cache has lost raw data of a run, or holds it damaged."""

    exit_status = 2


@dataclass(frozen=True, slots=True)
class CleanClone:
    """A workspace of its own, with a cache of its own."""

    root: Path
    raw: tuple[str, ...]  # paths of the raw data that its cache holds

    @property
    def cache(self) -> Path:
        """Its cache's folder."""
        return self.root / ".dvc/cache"

    @property
    def site(self) -> Path:
        """Where DVC keeps what it knows of this clone's files."""
        return self.root.parent / "site"


@contextmanager
def clean_clone(workspace: Path, record: RunRecord) -> Iterator[CleanClone]:
    """Clone what a run ran, bring its raw data, and remove the clone in the end.

    Args:
        workspace: the repository; its branches, index and files are not looked at.
        record: the run.

    Raises:
        RawDataMissing: the raw data is not in the cache as it was.
    """
    workspace = workspace.resolve()
    sweep(workspace)
    holder = workspace / CLONES / f"{record.id}-{secrets.token_hex(2)}"
    holder.mkdir(parents=True)
    try:
        atomic.write(workspace / ".assay/.gitignore", "*\n")
        atomic.write(holder / "owner", str(Owner.me()))
        root = holder / "clone"
        _clone(workspace, root, record)
        yield CleanClone(root, _bring_raw_data(workspace, root, record))
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def sweep(workspace: Path) -> None:
    """Remove clones whose process is dead, and end what they left running."""
    for holder in (workspace / CLONES).glob("*"):
        try:
            owner = Owner.parse((holder / "owner").read_text(encoding="utf-8"))
        except OSError:  # it is being made, or whoever made it died within milliseconds
            owner = None
        abandoned = owner is None and time.time() - holder.stat().st_mtime > ABANDONED_AFTER_S
        if abandoned or (owner is not None and owner.is_dead()):
            _end_child(holder)
            reap(holder / "clone")
            shutil.rmtree(holder, ignore_errors=True)


def note_child(clone: CleanClone, pid: int) -> None:
    """Note the process that works in a clone, so that `sweep` ends it before the clone goes."""
    child = replace(Owner.me(), pid=pid, started=started(pid) or "")
    atomic.write(clone.root.parent / "child", str(child))


def _end_child(holder: Path) -> None:
    try:
        child = Owner.parse((holder / "child").read_text(encoding="utf-8"))
    except OSError:  # none was started
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        give_up = time.monotonic() + END_S
        if child is None or child.is_dead():
            return
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)  # it leads a session of its own
        while not child.is_dead() and time.monotonic() < give_up:
            time.sleep(0.05)


def _clone(workspace: Path, root: Path, record: RunRecord) -> None:
    root.mkdir()
    git.run(root, "init", "--quiet")
    # Two commits: the run's own, and what ran. The user's history is not needed.
    source = f"{PREFIX}{record.id}"
    git.run(root, "fetch", "--quiet", "--no-tags", "--depth=2", str(workspace), source)
    refuse_links(root, record.commit)
    git.run(root, "checkout", "--quiet", "--detach", record.commit)
    (root / ".dvc").mkdir(exist_ok=True)
    # `.dvc/config` may name a cache that is shared: this one is empty.
    own = f"[cache]\n    dir = {root / '.dvc/cache'}\n"
    (root / ".dvc/config.local").write_text(own, encoding="utf-8")
    exclude = root / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text(".dvc/config.local\n.dvc/cache\n.dvc/tmp\n.assay\n", encoding="utf-8")


def _bring_raw_data(workspace: Path, root: Path, record: RunRecord) -> tuple[str, ...]:
    source, target = cache_of(workspace), root / ".dvc/cache"
    raw = [one for one in run_objects(workspace, [record.id])[record.id].named if not one.stage]
    for one in raw:
        inside = members(source, one.md5) if one.md5.endswith(".dir") else {}
        for md5 in (one.md5, *(inside or {}).values()):
            path = place(source, md5)
            if not _is_whole(path, md5):
                raise RawDataMissing(
                    f"The cache holds {one.path} of run {record.id} not as it was: {path} is "
                    f"missing or damaged. Bring it from your remote: assay pull {record.id}"
                )
            take(path, place(target, md5))
    return tuple(one.path for one in raw)


def _is_whole(path: Path, md5: str) -> bool:
    try:
        with path.open("rb") as file:
            return file_digest(file, "md5").hexdigest() == md5.partition(".")[0]
    except OSError:
        return False


def take(source: Path, target: Path) -> None:
    """Put an object into a cache: whole or not at all, and a copy, not a link to the other's.

    Raises:
        CacheUnwritable: the cache's disk refuses.
    """
    if target.exists():
        return
    with cache_writes(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".taken-")
        os.close(handle)
        try:
            shutil.copyfile(source, name)
            Path(name).chmod(0o444)
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)


def adopt(workspace: Path, clone: CleanClone, made: RunRecord, base: str) -> None:
    """Keep a clone's run as one of the workspace: its tag, its objects and its logs.

    Args:
        workspace: the repository.
        clone: where it ran.
        made: its record, as it is to be kept.
        base: the commit that was cloned.
    """
    with not_while_pruning(workspace):
        source, target = clone.cache, cache_of(workspace)
        for md5 in run_objects(clone.root, [made.id], source)[made.id].names:
            if place(source, md5).exists():
                take(place(source, md5), place(target, md5))
        logs = clone.root / LOGS / made.id
        for log in logs.glob("*.log"):
            (workspace / LOGS / made.id).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, workspace / LOGS / made.id / log.name)
        kept = _at_home(made, clone.root / LOGS, workspace / LOGS)
        kept = kept.model_copy(update={"commit": base, "parent": base})
        tag(workspace, _commit(workspace, clone, kept), kept)


def _at_home(made: RunRecord, old: Path, new: Path) -> RunRecord:
    """Say where the logs are once the clone is gone."""
    stages = []
    for stage in made.stages:
        moved = stage.log and stage.log.replace(f"{old}/", f"{new}/", 1)
        stages.append(stage.model_copy(update={"log": moved}))
    return made.model_copy(update={"stages": stages})


def _commit(workspace: Path, clone: CleanClone, made: RunRecord) -> str:
    """Write again, on top of what ran, what the clone's tag holds beside it."""
    mine = f"cases/{made.case}/run.json"
    tree = f"{PREFIX}{made.id}"
    listed = git.run(
        clone.root, "diff-tree", "-r", "-z", "--no-renames", "--name-only", made.commit, tree
    )
    names = {os.fsdecode(name) for name in listed.split(b"\0") if name} | {mine}
    known = {
        os.fsdecode(name)
        for name in git.run(clone.root, "ls-tree", "-r", "-z", "--name-only", tree).split(b"\0")
    }
    with tempfile.TemporaryDirectory(dir=workspace / ".assay") as folder:
        within = {"GIT_INDEX_FILE": str(Path(folder) / "index"), **git.identity(workspace)}
        git.run(workspace, "read-tree", made.commit, environment=within)
        lines = []
        for name in sorted(names):
            if name not in known and name != mine:
                lines.append(f"0 {'0' * 40}\t{name}")
                continue
            content = (
                (made.model_dump_json(indent=2) + "\n").encode()
                if name == mine
                else git.run(clone.root, "cat-file", "blob", f"{tree}:{name}")
            )
            blob = git.run(workspace, "hash-object", "-w", "--stdin", input_=content)
            lines.append(f"100644 {blob.decode().strip()}\t{name}")
        told = b"".join(os.fsencode(line) + b"\0" for line in lines)
        git.run(workspace, "update-index", "-z", "--index-info", input_=told, environment=within)
        written = git.run(workspace, "write-tree", environment=within).decode().strip()
        words = ("commit-tree", written, "-p", made.commit, "-F", "-")
        message = f"Run {made.id}: {made.state}\n".encode()
        return git.run(workspace, *words, input_=message, environment=within).decode().strip()
