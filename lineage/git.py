"""git as a command without surprises: no inherited GIT_ variables, and locks are waited for."""

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

RETRY_FOR_S = 20.0
_BUSY = ("could not lock", "Unable to create", "cannot lock ref", "unable to lock")


class GitError(Exception):
    """git refused; the message is its own."""

    exit_status = 3


def run(
    root: Path,
    *arguments: str,
    input_: bytes | None = None,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Run git in a folder and return what it printed; waits for another process's lock.

    Raises:
        GitError: it failed.
    """
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or key == "GIT_CEILING_DIRECTORIES"
    }
    kept |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **(environment or {})}
    give_up = time.monotonic() + RETRY_FOR_S
    pause_s = 0.02
    while True:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            input=input_,
            stdin=None if input_ is not None else subprocess.DEVNULL,
            capture_output=True,
            env=kept,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.decode(errors="replace").strip()
        busy = any(word in said for word in _BUSY) and "File exists" in said
        if not busy or time.monotonic() > give_up:
            raise GitError(said or f"git {arguments[0]} ended with {done.returncode}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.5)


def text(root: Path, *arguments: str) -> str:
    """Run git and return one line of text."""
    return run(root, *arguments).decode().strip()


def identity(root: Path) -> dict[str, str]:
    """Return what a commit needs where the user has named nobody; empty where they have."""
    try:
        run(root, "var", "GIT_COMMITTER_IDENT")
    except GitError:
        who = {"NAME": "assay", "EMAIL": "assay@localhost"}
        return {f"GIT_{role}_{key}": who[key] for role in ("AUTHOR", "COMMITTER") for key in who}
    return {}


def commit_files(root: Path, *, base: str, index: Path, paths: list[str], message: str) -> str:
    """Commit the state of some files on top of a commit, through an index of its own.

    Neither the user's index, nor a branch, nor a file is touched. A path that is gone is removed.

    Returns:
        The new commit's id.
    """
    environment = {"GIT_INDEX_FILE": str(index), **identity(root)}
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    run(
        root,
        "update-index",
        "--add",
        "--remove",
        "-z",
        "--stdin",
        input_=names,
        environment=environment,
    )
    tree = run(root, "write-tree", environment=environment).decode().strip()
    made = run(
        root,
        "commit-tree",
        tree,
        "-p",
        base,
        "-F",
        "-",
        input_=message.encode(),
        environment=environment,
    )
    return made.decode().strip()
