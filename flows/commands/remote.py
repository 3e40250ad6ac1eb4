"""`assay push` and `assay pull`: a run and all that it needs, to a colleague and from one."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from lineage import remote as remotes
from lineage.remote import Moved
from lineage.run_tags import read_run


def push(run: str, remote: str | None, git_remote: str | None) -> Answer:
    """Take a run to the remotes."""
    root = workspace.find(Path.cwd())
    moved = remotes.push(root, run, remote=remote, git_remote=git_remote)
    return _told(root, moved, "pushed", f"A colleague gets it by: assay pull {moved.run_id}")


def pull(run: str, remote: str | None, git_remote: str | None) -> Answer:
    """Bring a run from the remotes."""
    root = workspace.find(Path.cwd())
    moved = remotes.pull(root, run, remote=remote, git_remote=git_remote)
    return _told(root, moved, "pulled", f"Its report: assay report {moved.run_id}")


def _told(root: Path, moved: Moved, did: str, then: str) -> Answer:
    record = read_run(root, moved.run_id)
    size = moved.size_bytes / 2**20
    lines = [
        f"{did:<8} {moved.run_id}",
        f"tag      {moved.git_remote}",
        f"objects  {moved.num_objects} that were not there, {size:.1f} MiB, {moved.remote}",
    ]
    lines += [f"stays    {path}: it never leaves the machine that made it" for path in moved.stays]
    if record.partial:
        lines.append(
            "note     a partial answer: what it made outside of DVC stays where it was made"
        )
    data: dict[str, Any] = {**asdict(moved), "stays": list(moved.stays), "partial": record.partial}
    return data, "\n".join([*lines, then]), 0
