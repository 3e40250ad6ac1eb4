"""What must be true of a workspace after any death: nothing lost, nothing wrong, nothing left."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from hashlib import md5
from pathlib import Path
from typing import Any, Final

import psutil
import yaml

from bench.rig import toy_case
from containers.reap import label_of
from lineage import git, run_tags

OBJECTS: Final = "files/md5"
GOOD: Final = ("ran", "restored", "unchanged")
TEMPORARY: Final = re.compile(r".*\.tmp$|^\..*\.[a-z0-9_]{8}$|^\.probe-.*")
"""Names that half-written files have: DVC's, `lineage.atomic`'s, and those of a cache's probe."""


def objects(cache: Path) -> dict[str, str]:
    """Return {hash: "" or what is wrong} of every object in a cache, by hashing it."""
    found = {}
    for path in sorted((cache / OBJECTS).glob("??/*")):
        name = path.parent.name + path.name
        if TEMPORARY.match(path.name):
            continue
        actual = md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        found[name] = "" if actual == name.removesuffix(".dir") else f"holds {actual}"
    return found


def committed(cache: Path) -> set[str]:
    """Return the objects that an entry of the run cache names, folders' members too."""
    named: set[str] = set()
    for path in sorted((cache / "runs").glob("??/*/*")):
        if TEMPORARY.match(path.name):
            continue
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
        named |= {out["md5"] for out in entry["outs"]}
    for folder in [name for name in named if name.endswith(".dir")]:
        path = cache / OBJECTS / folder[:2] / folder[2:]
        if path.exists():
            named |= {member["md5"] for member in json.loads(path.read_text(encoding="utf-8"))}
    return named


def wrong_records(root: Path, seen: set[str]) -> tuple[int, list[str]]:
    """Hold the records of new runs against the bytes; returns how many, and what is wrong.

    Args:
        root: the workspace.
        seen: the runs that were looked at; those of this call are added.
    """
    faults: list[str] = []
    runs = [one.id for one in run_tags.list_runs(root) if one.id not in seen]
    for run_id in runs:
        record = run_tags.read_run(root, run_id)
        faults += [f"{run_id}: {fault}" for fault in _faults(root, record)]
        seen.add(run_id)
    return len(runs), faults


def _faults(root: Path, record: Any) -> Iterator[str]:
    tag = f"refs/tags/run/{record.id}"
    folder = f"cases/{record.case}"
    try:
        lock = yaml.safe_load(git.run(root, "cat-file", "blob", f"{tag}:{folder}/dvc.lock"))
    except git.GitError:
        lock = {"stages": {}}
    params = yaml.safe_load(git.run(root, "cat-file", "blob", f"{tag}:{folder}/params.yaml"))
    cache = root / ".dvc/cache"
    good = {stage.name: stage for stage in record.stages if stage.how in GOOD}
    for name, stage in good.items():
        if dict(stage.params) != params[name]:
            yield f"{name}: its params are not those of the commit"
        for path, md5_ in stage.outputs.items():
            yield from _not_in(cache, name, path, md5_)
        entry = lock["stages"].get(name)
        if entry is None or entry["outs"][0]["md5"] != stage.outputs[_folder(record.case, name)]:
            yield f"{name}: dvc.lock does not say what the record says"
        for path, hashes in stage.inputs.items():
            made = next((it.outputs[path] for it in good.values() if path in it.outputs), None)
            blob = made or _of_commit(root, tag, path)
            if hashes.before != blob or hashes.after not in {None, blob}:
                yield f"{name}: it says that {path} was {hashes.before}, and it was {blob}"
    if record.state == "done" and set(good) != set(toy_case.NAMES):
        yield f"it is done, with {sorted(good)} only"


def _folder(case: str, name: str) -> str:
    return f"cases/{case}/artifacts/{name}"


def _not_in(cache: Path, name: str, path: str, hash_: str) -> Iterator[str]:
    file = cache / OBJECTS / hash_[:2] / hash_[2:]
    if not file.exists():
        yield f"{name}: {path} ({hash_}) is not in the cache"
    elif md5(file.read_bytes(), usedforsecurity=False).hexdigest() != hash_.removesuffix(".dir"):
        yield f"{name}: {path} ({hash_}) is damaged in the cache"


def _of_commit(root: Path, tag: str, path: str) -> str:
    content = git.run(root, "cat-file", "blob", f"{tag}:{path}")
    return md5(content, usedforsecurity=False).hexdigest()


def left_over(root: Path, scratch: Path, client: Any) -> Mapping[str, list[str]]:
    """Return what dead runs left: containers, worktrees, locks, temporary files, processes.

    Args:
        root: the workspace, in which nothing runs now.
        scratch: TMPDIR of its runs.
        client: the engine's, or None.
    """
    worktrees = git.text(root, "worktree", "list").splitlines()[1:]
    folders = [*root.glob(".assay/runs/*"), *root.glob(".assay/making/*")]
    locks = [*(root / ".git").rglob("*.lock"), *(root / ".assay/logs").rglob(".*.fence")]
    files = [path for path in (root / ".dvc/cache").rglob("*") if TEMPORARY.match(path.name)]
    files += [path for path in scratch.iterdir() if path.name.startswith("assay-")]
    debts = list(root.glob(".assay/debts/*"))  # half-written ones too
    labels = [f"assay.workspace={label_of(root)}"]
    found = client.containers(all=True, filters={"label": labels}) if client else []
    return {
        "containers": [one["Names"][0] for one in found],
        "worktrees": [*worktrees, *map(str, folders), *map(str, root.glob(".git/worktrees/*"))],
        "locks": [str(path) for path in locks],
        "temporary files": [str(path) for path in (*files, *debts)],
        "processes": _processes(root),
    }


def _processes(root: Path) -> list[str]:
    """Return living processes of the workspace, but its server and this one."""
    found = []
    for process in psutil.process_iter():
        try:
            words = " ".join(process.cmdline())
            inside = str(root) in words or process.cwd().startswith(str(root))
            if inside and process.pid != os.getpid() and "prefect server" not in words:
                found.append(f"{process.pid} {words[:120]}")
        except psutil.Error:
            continue
    return [one for one in found if "-m bench" not in one]
