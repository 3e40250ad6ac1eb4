"""Is all that runs have made still there and whole? Every object is read, each one once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage import git, yaml12
from lineage.cache_objects import Damage, look_through, members, place
from lineage.run_tags import PREFIX, case_of, find, has_record, list_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A run that needs an object."""

    run: str
    path: str  # as in the run's worktree
    stage: str  # what made it; "" of data that no stage makes


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """An object that is not what it is named, or not there."""

    name: str  # its MD5, with `.dir` where it lists a folder
    path: Path  # in the cache
    what: Damage
    needed: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was looked at, and what is not whole."""

    runs: tuple[str, ...]
    num_objects: int
    size_bytes: int
    damaged: tuple[Damaged, ...]
    unread: tuple[str, ...] = ()  # whose tag holds no record of a run: what it needs nobody can say

    @property
    def is_whole(self) -> bool:
        """Whether every run has its record, and every object is there and is what it is named."""
        return not self.damaged and not self.unread


@dataclass(frozen=True, slots=True)
class _Named:
    """An object that a run names itself; a `.dir` names more."""

    name: str
    path: str
    stage: str


def verify_run(workspace: Path, which: str) -> Verified:
    """Read all that one run's locks name, data under DVC too.

    Args:
        workspace: the repository.
        which: as for `run_tags.find`.

    Raises:
        RunUnknown: there is no such run.
    """
    return verify_runs(workspace, [find(workspace, which)])


def verify_runs(workspace: Path, runs: Sequence[str] | None = None) -> Verified:
    """Read all that these runs name, or that any run does; each object once.

    Whoever needs what is damaged is looked for among all runs.
    """
    from lineage.dvc_repo import cache_of

    cache = cache_of(workspace)
    asked = list_ids(workspace) if runs is None else list(runs)
    unread = tuple(run for run in asked if not has_record(workspace, run))
    named = _named_by(workspace, [run for run in asked if run not in unread])
    own = {one.name for ones in named.values() for one in ones}
    read = look_through(cache, own)
    bad = read.damaged
    if bad and runs is not None:
        every = list_ids(workspace)
        named = _named_by(workspace, [run for run in every if has_record(workspace, run)])
    needs = _needs(cache, named, read.listed, bad)
    return Verified(
        runs=tuple(asked),
        num_objects=len(read.objects),
        size_bytes=sum(_size(place(cache, name)) for name in read.objects),
        unread=unread,
        damaged=tuple(
            Damaged(name=name, path=place(cache, name), what=bad[name], needed=tuple(needs[name]))
            for name in sorted(bad, key=lambda name: (needs[name][0].run, needs[name][0].path))
        ),
    )


def _needs(
    cache: Path,
    named: Mapping[str, Sequence[_Named]],
    listed: Mapping[str, Mapping[str, str]],
    bad: Collection[str],
) -> dict[str, list[Need]]:
    found: dict[str, list[Need]] = {name: [] for name in bad}
    known = dict(listed)
    for run, ones in named.items():
        for one in ones:
            if one.name in found:
                found[one.name].append(Need(run=run, path=one.path, stage=one.stage))
            if not one.name.endswith(".dir"):
                continue
            if one.name not in known:
                known[one.name] = {} if one.name in found else members(cache, one.name)
            for inner, name in known[one.name].items():
                if name in found:
                    path = f"{one.path}/{inner}"
                    found[name].append(Need(run=run, path=path, stage=one.stage))
    return found


def _named_by(workspace: Path, runs: Iterable[str]) -> dict[str, list[_Named]]:
    parsed: dict[str, Any] = {}  # by the blob's id: most runs of a case share their data's
    return {run: _named(workspace, run, parsed) for run in runs}


def _named(workspace: Path, run: str, parsed: dict[str, Any]) -> list[_Named]:
    listed = git.run(workspace, "ls-tree", "-r", "-z", f"{PREFIX}{run}").decode()
    lock = f"cases/{case_of(run)}/dvc.lock"
    found: list[_Named] = []
    for line in filter(None, listed.split("\0")):
        about, _, path = line.partition("\t")
        if path != lock and not (path.endswith(".dvc") and _is_shown(path, run)):
            continue
        blob = about.split()[2]
        if blob not in parsed:
            text = git.run(workspace, "cat-file", "blob", blob).decode()
            parsed[blob] = yaml12.load(text) or {}
        folder = path.rpartition("/")[0]
        for stage, entry in _entries(parsed[blob], is_lock=path == lock):
            found += [_Named(out["md5"], f"{folder}/{out['path']}".lstrip("/"), stage)
                      for out in entry.get("outs") or () if out.get("md5")]  # fmt: skip
    return found


def _entries(content: Any, *, is_lock: bool) -> list[tuple[str, Any]]:
    return list((content.get("stages") or {}).items()) if is_lock else [("", content)]


def _is_shown(path: str, run: str) -> bool:
    """Tell whether a run saw this `.dvc` file: not that of another case."""
    return not path.startswith("cases/") or path.startswith(f"cases/{case_of(run)}/")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
