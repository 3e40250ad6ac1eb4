"""Brings a file of a finished run out of the cache, checked against the lock in the run's tag."""

import json
import shutil
from hashlib import file_digest
from pathlib import Path
from typing import Any

from lineage import git, hostile, yaml12
from lineage.run_tags import PREFIX, find

REPORTS = ".assay/reports"


class ArtifactMissing(Exception):  # noqa: N818 - reads as the fact that it is
    """A run has no such file, or the cache has lost it."""

    exit_status = 3


def open_artifact(workspace: Path, run: str, path: str) -> Path:
    """Copy a file or folder of a run to `.assay/reports/<id>/` and return where it is.

    Args:
        workspace: the repository.
        run: as for `find`.
        path: as in the run's worktree: cases/digits/artifacts/report/report.html.

    Raises:
        RunUnknown: there is no such run.
        ArtifactMissing: the run did not make it, or the cache lacks it or holds it damaged.
    """
    from lineage.dvc_repo import cache_of

    run_id = find(workspace, run)
    into = workspace / REPORTS / run_id
    if _is_apart(workspace, run_id, path):
        return into / path
    files = _files(workspace, run_id, path, cache_of(workspace) / "files/md5")
    for name, source in files.items():
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)  # a copy: an editor that saves must not reach the cache
    return into / path


def read_artifact(workspace: Path, run: str, path: str) -> bytes:
    """Return the bytes of one file of a run, as `open_artifact` finds it, and copy nothing."""
    from lineage.dvc_repo import cache_of

    run_id = find(workspace, run)
    if _is_apart(workspace, run_id, path):
        return (workspace / REPORTS / run_id / path).read_bytes()
    return _files(workspace, run_id, path, cache_of(workspace) / "files/md5")[path].read_bytes()


def _is_apart(workspace: Path, run_id: str, path: str) -> bool:
    """Tell whether a file is one that a run kept outside of DVC, as its answer was cut short."""
    if not (workspace / REPORTS / run_id / path).exists():
        return False
    named = _outs(workspace, run_id, path.split("/")[1])
    return not any(f"{path}/".startswith(f"{folder}/") for folder in named)


def _files(workspace: Path, run_id: str, path: str, cache: Path) -> dict[str, Path]:
    for folder, md5 in _outs(workspace, run_id, path.split("/")[1]).items():
        if path != folder and not path.startswith(f"{folder}/"):
            continue
        listed = json.loads(_object(cache, md5, folder, run_id).read_text(encoding="utf-8"))
        members = {f"{folder}/{name}": md5 for name, md5 in hostile.members(listed).items()}
        wanted = {
            name: md5
            for name, md5 in members.items()
            if name == path or name.startswith(f"{path}/")
        }
        if wanted:
            return {name: _object(cache, md5, name, run_id) for name, md5 in wanted.items()}
        made = ", ".join(sorted(members))
        raise ArtifactMissing(f"Run {run_id} has no {path}. There it made: {made}.")
    raise ArtifactMissing(
        f"Run {run_id} has no {path}: the stage that makes it did not finish in it."
    )


def _outs(workspace: Path, run_id: str, case: str) -> dict[str, str]:
    try:
        text = git.run(workspace, "cat-file", "blob", f"{PREFIX}{run_id}:cases/{case}/dvc.lock")
    except git.GitError:
        return {}
    lock: dict[str, Any] = yaml12.load(text.decode())
    return {
        f"cases/{case}/{out['path']}": out["md5"]
        for stage in lock["stages"].values()
        for out in stage["outs"]
    }


def _object(cache: Path, md5: str, name: str, run_id: str) -> Path:
    if not hostile.is_object(md5):
        raise hostile.HostileRun(f"Run {run_id} names {name} by {md5!a}, which is no object.")
    path = cache / md5[:2] / md5[2:]
    if not path.exists():
        raise ArtifactMissing(
            f"The cache has lost {name} of run {run_id}. Bring it from your remote, `assay pull "
            f"{run_id}`, or make it again: assay rerun {run_id}"
        )
    with path.open("rb") as file:
        found = file_digest(file, "md5").hexdigest()
    if found != md5.partition(".")[0]:
        raise ArtifactMissing(
            f"The cache holds {name} of run {run_id} damaged: {path}. Take it out of there, "
            f"`assay verify {run_id} --mend`, then `assay pull {run_id}` or `assay rerun {run_id}`."
        )
    return path
