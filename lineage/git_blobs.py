"""Many files out of git's history in a few calls: a process for each would take seconds."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lineage import git

AT_ONCE = 64  # names to one process: what it answers is held in memory


def read_blobs(root: Path, names: Sequence[str]) -> Iterator[bytes | None]:
    """Return the contents of files, in the order of their names; None where there is no such file.

    Args:
        root: the repository, or one of its worktrees.
        names: as git names them, `refs/tags/run/ID:cases/CASE/dvc.lock`; no line break in them.
    """
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        asked = "".join(f"{name}\n" for name in some).encode()
        said = git.run(root, "cat-file", "--batch", input_=asked)
        at = 0
        for _ in some:
            head, _, _ = said[at : at + 4096].partition(b"\n")
            at += len(head) + 1
            *_, kind, last = head.rsplit(b" ", 2)  # ID KIND SIZE, or NAME missing
            if not last.isdigit():
                yield None
                continue
            size = int(last)
            yield said[at : at + size] if kind == b"blob" else None
            at += size + 1
