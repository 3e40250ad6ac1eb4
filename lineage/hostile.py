"""What a run or a branch of somebody else may not say: names and links that lead elsewhere."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from lineage import git

_OBJECT = re.compile(r"[0-9a-f]{32}(?:\.dir)?")
_WRITTEN = re.compile(
    r"\.dvc(/.*)?|\.assay(/.*)?|\.git|environments\.yaml|cases(/[^/]+)?"
    r"|cases/[^/]+/(artifacts(/.*)?|dvc\.yaml|dvc\.lock|graph\.json|run\.json|\.gitignore)"
)
"""Where a run writes into its worktree."""


class HostileRun(ValueError):  # noqa: N818 - reads as the fact that it is
    """A run or a branch would have files outside of its place read, written or removed."""

    exit_status = 3


def is_object(name: object) -> bool:
    """Tell the name of an object from a path: joined to the cache's folder, it stays in there."""
    return isinstance(name, str) and _OBJECT.fullmatch(name) is not None


def stays_inside(path: object) -> bool:
    """Tell whether a path within a folder, as a list or a lock gives it, stays within.

    >>> [stays_inside(path) for path in ("a/b", "../b", "/b", "a/../../b", "")]
    [True, False, False, False, False]
    """
    if not isinstance(path, str) or not path or "\0" in path or path.startswith("/"):
        return False
    return ".." not in path.split("/") and PurePosixPath(path).parts != ()


def members(listed: Any) -> dict[str, str]:
    """Return {path: MD5} of a folder's list.

    Raises:
        ValueError: it is no list of objects that stay within the folder. Also TypeError, KeyError.
    """
    found = {one["relpath"]: one["md5"] for one in listed}
    odd = [path for path, md5 in found.items() if not (stays_inside(path) and is_object(md5))]
    if odd:
        raise HostileRun(f"a folder's list holds {odd[0]!a}, which leads out of it, or no object.")
    return found


def refuse_links(workspace: Path, commit: str) -> None:
    """Refuse a commit that has a link where a run writes: it would write to where that leads.

    Raises:
        HostileRun: it has one, which is named.
    """
    listed = git.run(workspace, "ls-tree", "-r", "-z", commit).decode(errors="replace")
    for line in listed.split("\0"):
        facts, _, name = line.partition("\t")
        if facts.startswith("120000") and _WRITTEN.fullmatch(name):
            raise HostileRun(
                f"Commit {commit[:12]} has a link at {name}, where a run writes: it would write to "
                f"where that leads. Take it out (git rm {name}), and ask who put it there."
            )


def refuse_outside(file: str, places: Iterable[Path], root: Path) -> None:
    """Refuse data of a `.dvc` file whose place is not in the workspace, or is the machine's own.

    Raises:
        HostileRun: so it is.
    """
    top = root.resolve()
    for place in places:
        real = place.parent.resolve() / place.name
        parts = real.relative_to(top).parts if real.is_relative_to(top) else ()
        if ".." in place.parts or not parts or parts[0] in (".git", ".dvc", ".assay"):
            raise HostileRun(
                f"{file} would put data at {place}, which is no place for a case's data. "
                "Write its path anew, and ask who wrote it."
            )
