"""Which objects of the cache a run needs: all that its tag's locks and `.dvc` files name.

The locks that the tag holds are the list; neither DVC's state nor its index is asked.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lineage import git, hostile, yaml12
from lineage.cache_objects import place
from lineage.git_blobs import read_blobs
from lineage.run_tags import PREFIX

DIR = ".dir"  # how the hash of a folder ends: its object lists the members
_STAGE = re.compile(r"^  ([A-Za-z][A-Za-z0-9_-]*):\n", re.MULTILINE)
_OUT = re.compile(
    r"    - path: ([A-Za-z0-9_][\w./-]*)\n      hash: md5\n      md5: ([0-9a-f]{32}(?:\.dir)?)\n"
)


@dataclass(frozen=True, slots=True)
class Named:
    """One output that a lock or a `.dvc` file names."""

    path: str  # from the root of the repository
    md5: str  # ends in `.dir` for a folder
    stage: str | None  # that made it; None: it is data that a `.dvc` file holds


@dataclass(frozen=True, slots=True)
class RunObjects:
    """Everything of the cache that one run refers to."""

    run_id: str
    named: tuple[Named, ...]
    names: dict[str, str] = field(default_factory=dict)  # hash -> a path that it stands under
    unlisted: dict[str, str] = field(default_factory=dict)
    """Folders whose own object is away or no list: which members they have nobody can say."""
    odd: tuple[str, ...] = ()
    """Paths that lead out of the workspace, or whose hash is none: whoever wrote them lies."""


def objects_of(workspace: Path, run_id: str, cache: Path | None = None) -> set[str]:
    """Return the DVC hashes of all that a run's tag refers to: files, `.dir` objects, members."""
    return set(run_objects(workspace, [run_id], cache)[run_id].names)


def run_objects(
    workspace: Path, run_ids: Sequence[str], cache: Path | None = None
) -> dict[str, RunObjects]:
    """Return what several runs refer to; each folder's list is read once for all of them.

    Args:
        workspace: the repository.
        run_ids: whole ids of runs that have a tag.
        cache: the cache's folder, if it is not the one that DVC's configuration names.
    """
    if cache is None:
        from lineage.dvc_repo import cache_of

        cache = cache_of(workspace)
    lists: dict[str, dict[str, str] | None] = {}
    found = {}
    for run_id, named in _named(workspace, run_ids):
        good = tuple(one for one in named if _is_honest(one))
        known = RunObjects(run_id, good, odd=tuple(one.path for one in named if one not in good))
        for one in good:
            known.names.setdefault(one.md5, one.path)
            if not one.md5.endswith(DIR):
                continue
            if one.md5 not in lists:
                lists[one.md5] = members(cache, one.md5)
            inside = lists[one.md5]
            if inside is None:
                known.unlisted[one.md5] = one.path
            for name, md5 in (inside or {}).items():
                known.names.setdefault(md5, f"{one.path}/{name}")
        found[run_id] = known
    return found


def members(cache: Path, md5: str) -> dict[str, str] | None:
    """Return {path within the folder: hash} of a `.dir` object; None where it is away or broken."""
    try:
        return hostile.members(json.loads(place(cache, md5).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def lock_outs(text: str, folder: str) -> list[Named]:
    """Return the outputs that a dvc.lock names.

    Args:
        text: the lock; one that cannot be parsed names nothing.
        folder: where it stands, `cases/CASE`: its paths begin there.
    """
    starts = [*_STAGE.finditer(text)]
    found: list[Named] = []
    for start, end in zip(starts, [*starts[1:], None], strict=False):
        block = text[start.end() : end.start() if end else len(text)]
        _, _, outs = block.partition("    outs:\n")
        plain = _OUT.findall(outs)
        if len(plain) != outs.count("md5: "):  # written by another hand than DVC's
            return _parsed_outs(text, folder)
        found += [Named(_joined(folder, path), md5, start[1]) for path, md5 in plain]
    return found or _parsed_outs(text, folder)


def _parsed_outs(text: str, folder: str) -> list[Named]:
    stages = _mapping(_yaml(text).get("stages"))
    return [
        Named(_joined(folder, str(out["path"])), str(out["md5"]), name)
        for name, stage in stages.items()
        for out in _items(_mapping(stage).get("outs"))
        if "md5" in out and "path" in out
    ]


def _is_honest(one: Named) -> bool:
    return hostile.is_object(one.md5) and hostile.stays_inside(one.path)


def _named(workspace: Path, run_ids: Sequence[str]) -> Iterator[tuple[str, tuple[Named, ...]]]:
    locks = [f"{PREFIX}{run_id}:{_folder(run_id)}/dvc.lock" for run_id in run_ids]
    for run_id, lock in zip(run_ids, read_blobs(workspace, locks), strict=True):
        made = lock_outs(lock.decode(), _folder(run_id)) if lock else []
        read = _reads(lock.decode()) if lock else set()
        yield run_id, (*made, *_data(workspace, run_id, read))


def case_of(run_id: str) -> str:
    """Return the case of a run; it stands in the id."""
    return run_id.partition("-")[2].rpartition("-")[0]


def _folder(run_id: str) -> str:
    return f"cases/{case_of(run_id)}"


def _reads(lock: str) -> set[str]:
    """Return the paths that a lock's stages depend on, as it writes them."""
    return set(re.findall(r"^    - path: (.+)$", lock, re.MULTILINE))


def _data(workspace: Path, run_id: str, read: set[str]) -> Iterator[Named]:
    """Return what the `.dvc` files hold that the run's case or one of its stages reads."""
    folder = _folder(run_id)
    wanted = {posixpath.normpath(f"{folder}/{path}") for path in read} | {folder}
    listed = git.run(workspace, "ls-tree", "-r", "-z", "--name-only", f"{PREFIX}{run_id}")
    files = [name for name in listed.decode(errors="replace").split("\0") if _is_dvc_file(name)]
    names = [f"{PREFIX}{run_id}:{name}" for name in files]
    for name, text in zip(files, read_blobs(workspace, names), strict=True):
        content = _yaml(text.decode(errors="replace")) if text else {}
        base = posixpath.join(posixpath.dirname(name), str(content.get("wdir", ".")))
        for out in _items(content.get("outs")):
            path = _joined(base, str(out.get("path")))
            if "md5" in out and any(_touch(path, one) for one in wanted):
                yield Named(path, str(out["md5"]), None)


def _is_dvc_file(name: str) -> bool:
    return name.endswith(".dvc") and "\n" not in name


def _touch(path: str, other: str) -> bool:
    """Tell whether one path is the other, or holds it."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(f"{folder}/{path}")


def _yaml(text: str) -> Mapping[str, Any]:
    try:
        return _mapping(yaml12.load(text))
    except yaml.YAMLError:
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
