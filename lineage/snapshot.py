"""What the user sees is what runs: a dirty tree becomes a commit, beside the user's own history."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from containers.scratch import scratch
from lineage import git, secret_scan

MAX_BYTES = 64 * 2**20
SHOWN = 5


class SnapshotRefused(Exception):  # noqa: N818 - reads as the fact that it is
    """The dirty tree cannot become a commit; the message says which file and what to do."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A commit that holds the workspace as it stands."""

    commit: str
    parent: str  # the user's HEAD; equal to `commit` when the tree is clean
    dirty: tuple[str, ...]  # what differs from it, sorted


def snapshot(workspace: Path, message: str, *, max_bytes: int = MAX_BYTES) -> Snapshot:
    """Commit tracked changes and untracked files that are not ignored.

    The user's index, branch and files stay as they are; the commit hangs from nothing until a run's
    worktree and tag hold it.

    Raises:
        SnapshotRefused: no repository, no commit, an open merge, too large, or a secret.
    """
    parent = _head(workspace)
    dirty = _dirty(workspace)
    if not dirty:
        return Snapshot(commit=parent, parent=parent, dirty=())
    _check_size(workspace, dirty, max_bytes)
    _check_secrets(workspace, dirty)
    with scratch() as folder:
        index = folder / "index"
        users = Path(
            git.text(workspace, "rev-parse", "--path-format=absolute", "--git-path", "index")
        )
        if users.exists():
            # What it knows of unchanged files saves reading them. With its time: a file that was
            # edited in the second in which git last looked is told by that alone.
            shutil.copy2(users, index)
        else:
            git.run(workspace, "read-tree", parent, environment={"GIT_INDEX_FILE": str(index)})
        made = git.commit_files(workspace, base=parent, index=index, paths=dirty, message=message)
    return Snapshot(commit=made, parent=parent, dirty=tuple(dirty))


def refuse_submodules(workspace: Path, commit: str, folders: Sequence[str]) -> None:
    """Refuse submodules in what a run shows of a case: it would find their folders empty.

    Raises:
        SnapshotRefused: there is one; it is named.
    """
    for line in git.run(workspace, "ls-tree", "-r", "-z", commit, "--", *folders).split(b"\0"):
        about, _, path = line.partition(b"\t")
        if about.startswith(b"160000 "):
            raise SnapshotRefused(
                f"{os.fsdecode(path)} is a submodule, and a run finds its folder empty. Take its "
                "files into this repository without its .git, or put data under DVC (`dvc add`)."
            )


def _head(workspace: Path) -> str:
    try:
        top = git.text(workspace, "rev-parse", "--show-toplevel")
    except git.GitError as error:
        if "dubious ownership" in str(error):
            raise SnapshotRefused(str(error)) from error
        raise SnapshotRefused(
            f"{workspace} is not a git repository. "
            "Make it one: git init && git add -A && git commit."
        ) from error
    if Path(top).resolve() != workspace.resolve():
        raise SnapshotRefused(
            f"{workspace} lies inside the repository {top}. A workspace is a repository of its own."
        )
    try:
        return git.text(workspace, "rev-parse", "--verify", "-q", "HEAD^{commit}")
    except git.GitError as error:
        raise SnapshotRefused(
            f"{workspace} has no commit yet, and a run must start from one. "
            "Make it: git add -A && git commit."
        ) from error


def _dirty(workspace: Path) -> list[str]:
    asked = ("--no-renames", "--untracked-files=all", "--ignore-submodules=none")
    listed = git.run(workspace, "status", "--porcelain=v2", "-z", *asked)
    dirty = []
    for line in listed.split(b"\0"):
        kind = line[:1]
        if kind == b"u":
            path = os.fsdecode(line.split(b" ", 10)[10])
            raise SnapshotRefused(f"{path} is in an open merge. Resolve it, and `git add` it.")
        if kind == b"1":
            path = os.fsdecode(line.split(b" ", 8)[8])
            if line.split(b" ", 3)[2].startswith(b"S"):
                raise SnapshotRefused(
                    f"{path} is a submodule with changes, and a run takes none of them. Commit "
                    f"them in it and here (git add {path} && git commit), or undo them."
                )
            dirty.append(path)
        elif kind == b"?":
            dirty.append(os.fsdecode(line[2:]))
    for path in dirty:
        if path.endswith("/"):
            raise SnapshotRefused(
                f"{path} is a git repository inside this one, and a run takes none of it. "
                "Ignore it in .gitignore, or take its files into this repository without its .git."
            )
    return sorted(dirty)


def _check_size(workspace: Path, dirty: list[str], max_bytes: int) -> None:
    sizes = {}
    for path in dirty:
        file = workspace / path
        if file.is_file() and not file.is_symlink():
            sizes[path] = file.stat().st_size
    total = sum(sizes.values())
    if total <= max_bytes:
        return
    largest = sorted(sizes, key=lambda path: -sizes[path])[:SHOWN]
    named = ", ".join(f"{path} ({sizes[path] / 2**20:.1f} MiB)" for path in largest)
    raise SnapshotRefused(
        f"What is not committed is {total / 2**20:.1f} MiB, and a run takes at most "
        f"{max_bytes / 2**20:.1f} MiB into git. The largest: {named}. "
        "Put data under DVC with `dvc add`, or name it in .gitignore."
    )


def _check_secrets(workspace: Path, dirty: list[str]) -> None:
    found = secret_scan.find(workspace, dirty)
    if found:
        named = "\n".join(f"  {one.path}, line {one.line}: {one.kind}" for one in found)
        raise SnapshotRefused(
            f"What is not committed looks as if it held secrets, and a run would put them into "
            f"git:\n{named}\nRemove them or ignore the file; if it is none, write "
            f"`{secret_scan.ALLOW_MARK.decode()}` on the line or the file's name into "
            f"{secret_scan.ALLOW_FILE}."
        )
