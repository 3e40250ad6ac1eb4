"""The one module that touches DVC's Python internals (pinned; tested against plain `dvc repro`).

What is DVC's own: hashing and its state, the cache and its links, the loading of a stage, the form
of an entry, the key of the run cache, the repository's lock. What is done here instead, for speed:
YAML is read by libyaml and kept while its file is unchanged, all files of a stage are hashed in one
query, and one entry of dvc.lock is replaced as text.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lineage import atomic, dvc_yaml, hostile, lock_text, yaml12
from lineage.cache_objects import CacheDamaged, Damage, look_at, look_through, place
from lineage.cache_writes import cache_writes
from lineage.row import Row
from lineage.touched import Touched

_NOT_HASHED = ["size", "nfiles"]  # of an entry, as in DVC's own key of the run cache

Deps = Mapping[str, Any]
"""Path, as the row names it, to DVC's (Meta, HashInfo); None where the dependency is not there."""


class GraphStale(Exception):  # noqa: N818 - reads as the fact that it is
    """dvc.yaml does not say what the row says."""

    exit_status = 3


@dataclass(frozen=True, slots=True)
class Found:
    """An entry of dvc.lock or of the run cache that fits what stands in the workspace."""

    entry: Mapping[str, Any]
    origin: str  # its key and value in the run cache
    locked: bool  # dvc.lock says it already


class DvcRepo:
    """One DVC repository; all methods but `locked` and `close` are called while it is locked."""

    def __init__(self, root: Path, cache_dir: Path | None = None) -> None:
        self.root = root
        self._cache_dir = cache_dir
        self._guard = threading.RLock()  # DVC's own locks do not separate threads
        self._depth = 0
        self._kept: dict[Path, tuple[tuple[int, int, int], Any]] = {}
        self._files: dict[str, tuple[Any, Any]] = {}
        self._touched = Touched()

    @cached_property
    def _repo(self) -> Any:
        from dvc.repo import Repo

        config = {"cache": {"dir": str(self._cache_dir)}} if self._cache_dir else None
        return Repo(str(self.root), config=config, _wait_for_lock=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the repository, against other threads and other processes; short, and reentrant."""
        with self._guard:
            if self._depth:
                yield
                return
            self._depth += 1
            try:
                with self._repo.lock:
                    yield
            finally:
                self._depth -= 1
                self._repo.state.close()  # its connection belongs to this thread

    def close(self) -> None:
        """Let go of DVC's databases."""
        with self._guard:
            if "_repo" in self.__dict__:
                self._repo.close()
                del self._repo

    @property
    def cache_dir(self) -> Path:
        """The shared cache's folder."""
        return Path(self._repo.cache.legacy.path)

    # What the files say

    def stage(self, row: Row) -> Any:
        """Load a row's stage with what dvc.lock says of it.

        Raises:
            GraphStale: dvc.yaml does not say what the row says.
            LockBroken: dvc.lock is broken and has no journal copy.
        """
        from dvc.dvcfile import ProjectFile

        content = self._yaml(self.root / row.file) or {}
        if content.get("stages", {}).get(row.name) != dvc_yaml.entry(row):
            raise GraphStale(
                f"{row.file} does not say what {row.name} is. Write it anew with `make plan`."
            )
        kept = self._files.get(row.file)
        if kept is None or kept[0] is not content:
            kept = (content, ProjectFile(self._repo, str(self.root / row.file), verify=False))
            self._files[row.file] = kept
        file = kept[1]
        file.__dict__.update(contents=content, lockfile_contents=self.lock(row))
        file.__dict__.pop("stages", None)
        return file.stages[row.name]

    def lock(self, row: Row) -> dict[str, Any]:
        """Return the parsed dvc.lock of the row's case, brought back from its journal if broken."""
        path, journal = self._lock_paths(row)
        return self._keep(path, lambda: lock_text.read(path, journal)) or {}

    def _lock_paths(self, row: Row) -> tuple[Path, Path]:
        name = f"cases/{row.case}/dvc.lock"
        return self.root / name, self.root / ".assay/journal" / name

    def yaml(self, name: str) -> Any:
        """Return a YAML file of the workspace, parsed once while it is unchanged."""
        return self._yaml(self.root / name)

    def _yaml(self, path: Path) -> Any:
        return self._keep(path, lambda: yaml12.load(path.read_text(encoding="utf-8")))

    def _keep(self, path: Path, read: Any) -> Any:
        signature = _signature(path)
        if signature is None:
            return None
        kept = self._kept.get(path)
        if kept is None or kept[0] != signature:
            content = read()
            kept = (_signature(path) or signature, content)
            self._kept[path] = kept
        return kept[1]

    # What stands in the workspace

    def deps(self, stage: Any) -> Deps:
        """Hash what the stage depends on, as DVC does; only what changed is read."""
        from dvc_data.fsutils import _localfs_info
        from dvc_data.hashfile.build import _get_hashes

        for path in self._touched.see(dep.fs_path for dep in _plain_deps(stage)):
            # Else an edit that keeps size and time is not seen.
            self._repo.state.hashes.delete(path)
        found: dict[str, Any] = {}
        files: dict[str, str] = {}
        for dep in _plain_deps(stage):
            if os.path.isfile(dep.fs_path):  # noqa: PTH113 - DVC's paths are text
                files[dep.fs_path] = self.relative(dep)
            elif dep.exists:
                found[self.relative(dep)] = dep._get_hash_meta()  # noqa: SLF001
            else:
                found[self.relative(dep)] = None
        infos = {path: _localfs_info(path) for path in files}
        hashed = _get_hashes(list(files), self._repo.fs, "md5", infos, state=self._repo.state)
        found.update({files[path]: (meta, info) for path, (meta, info, _) in hashed.items()})
        return found

    def _forget_touched(self, places: Iterable[str]) -> None:
        for path in self._touched.see(places):
            self._repo.state.hashes.delete(path)  # DVC sees no edit that keeps size and time

    def set_deps(self, stage: Any, deps: Deps) -> None:
        """Give a stage these hashes, and the params that the files now state."""
        from dvc_data.hashfile.hash_info import HashInfo

        for dep in _plain_deps(stage):
            dep.meta, dep.hash_info = deps[self.relative(dep)]
        for param in stage.params:
            values: Any = self.params(param)  # DVC keeps them where a hash would stand
            param.hash_info = HashInfo("params", values)

    def params(self, param: Any) -> dict[str, Any]:
        """Read the values of one params file that a stage depends on."""
        import dpath

        content = self._yaml(Path(param.fs_path)) or {}
        values = {}
        for key in param.params:
            try:
                values[key] = dpath.get(content, key, separator=".")
            except KeyError:
                raise GraphStale(
                    f"{self.relative(param)} has no {key}, on which {param.stage.name} "
                    "depends. Write the graph anew with `make plan`."
                ) from None
        return values

    def relative(self, dep: Any) -> str:
        """Return a dependency's or output's path relative to the workspace."""
        return str(dep.fs_path)[len(self._repo.root_dir) + 1 :]

    # Entries

    def entry(self, stage: Any) -> dict[str, Any]:
        """Return a stage's entry in the form of dvc.lock."""
        from dvc.stage.serialize import to_single_stage_lockfile

        return dict(to_single_stage_lockfile(stage))

    def key(self, entry: Mapping[str, Any]) -> str:
        """Return the key in the run cache: command, dependencies, params, and paths of outputs."""
        from dvc.utils import dict_sha256

        asked = {**entry, "outs": [out["path"] for out in entry.get("outs", [])]}
        return str(dict_sha256(asked, exclude=_NOT_HASHED))

    def origin(self, entry: Mapping[str, Any]) -> str:
        """Return what names an entry in the run cache."""
        from dvc.utils import dict_sha256

        return f"{self.key(entry)}/{dict_sha256(dict(entry), exclude=_NOT_HASHED)}"

    def candidates(self, row: Row, wanted: Mapping[str, Any]) -> Iterator[Found]:
        """Yield entries that fit the wanted dependencies: dvc.lock's first, then the newest."""
        locked = self.lock(row).get("stages", {}).get(row.name)
        if locked and _asked(locked) == _asked(wanted):
            yield Found(locked, self.origin(locked), locked=True)
        key = self.key(wanted)
        folder = self.cache_dir / "runs" / key[:2] / key
        files = (
            [path for path in folder.iterdir() if len(path.name) == len(key)]
            if folder.is_dir()
            else []
        )
        for path in sorted(files, key=lambda path: path.stat().st_mtime, reverse=True):
            entry = yaml12.load(path.read_text(encoding="utf-8"))
            if isinstance(entry, dict) and "outs" in entry and self.key(entry) == key:
                yield Found(entry, f"{key}/{path.name}", locked=False)

    def set_outs(self, stage: Any, entry: Mapping[str, Any]) -> None:
        """Give a stage the outputs of an entry."""
        from dvc.stage.loader import StageLoader

        deps, stage.deps = stage.deps, []  # it would wipe what is known of them
        StageLoader.fill_from_lock(stage, {"outs": entry["outs"]})
        stage.deps = deps
        for out in stage.outs:
            out.obj = None

    def in_cache(self, stage: Any) -> bool:
        """Tell whether all that the stage's outputs say is in the cache."""
        return bool(stage.outs_cached())

    def damaged(self, entry: Mapping[str, Any]) -> Mapping[str, Damage]:
        """Read all that an entry says is in the cache, and return what is not what it is named."""
        return look_through(self.cache_dir, [out["md5"] for out in entry["outs"]]).damaged

    def in_place(self, stage: Any) -> bool:
        """Tell whether the outputs stand in the workspace as the stage says, and in the cache."""
        self._forget_touched(out.fs_path for out in stage.outs)
        return not any(out.status() for out in stage.outs)

    def members(self, stage: Any, paths: Iterable[str]) -> dict[str, Any]:
        """Return the hashes of those paths that are an output of the stage, or stand in one."""
        from dvc_data.hashfile.meta import Meta

        found: dict[str, Any] = {}
        for out in stage.outs:
            base = self.relative(out)
            tree = {"/".join(key): info for key, _, info in out.get_obj() or ()}
            for path in paths:
                inner = path[len(base) + 1 :]
                if path == base:
                    found[path] = (out.meta, out.hash_info)
                elif path.startswith(f"{base}/") and inner in tree:
                    found[path] = (Meta(), tree[inner])
                elif path.startswith(f"{base}/"):
                    inside = {k: v for k, v in tree.items() if k.startswith(f"{inner}/")}
                    if inside:
                        found[path] = _folder(inner, inside)
        return found

    # Changes

    def checkout(self, stage: Any) -> None:
        """Bring the stage's outputs out of the cache, in place of what is in the workspace."""
        self._repo.scm._reset()  # noqa: SLF001 - else it forgets what it has just ignored
        for out in stage.outs:
            out.remove()
            out.checkout(force=True)
            out.ignore()
            self._touched.see([out.fs_path])

    def store(
        self, stage: Any, take_out: Callable[[Mapping[str, Damage]], None]
    ) -> tuple[Mapping[str, Any], str]:
        """Put the outputs that stand in the workspace into the cache.

        Args:
            stage: the stage.
            take_out: called with objects that the cache has already, and damaged: DVC would keep
                them, and put them in place of what was made.

        Returns:
            The new entry, which nothing knows of until it is recorded, and its origin.

        Raises:
            CacheUnwritable: the cache's disk refuses.
        """
        self._repo.scm._reset()  # noqa: SLF001 - else it forgets what it has just ignored
        with cache_writes(self.cache_dir):
            for out in stage.outs:
                out.save()
                names = [out.hash_info.value, *(info.value for _, _, info in out.obj or ())]
                there = [name for name in names if place(self.cache_dir, name).exists()]
                take_out(look_at(self.cache_dir, there))
                out.commit()
                self._touched.see([out.fs_path])
        entry = self.entry(stage)
        return entry, self.origin(entry)

    def record(self, row: Row, entry: Mapping[str, Any], origin: str) -> None:
        """Set a stored entry in the run cache and in dvc.lock.

        Raises:
            CacheUnwritable: the cache's disk refuses.
        """
        path = self.cache_dir / "runs" / origin[:2] / origin
        if not path.exists():
            with cache_writes(self.cache_dir):
                atomic.write(path, lock_text.to_yaml(entry))
        self.write_lock(row, entry)

    def write_lock(self, row: Row, entry: Mapping[str, Any]) -> None:
        """Set a stage's entry in dvc.lock, as plain DVC would."""
        path, journal = self._lock_paths(row)
        before = self.lock(row)
        lock_text.write(path, journal, row.name, entry)
        stages = {**before.get("stages", {}), row.name: lock_text.plain(entry)}
        signature = _signature(path)
        assert signature is not None  # noqa: S101 - just written
        self._kept[path] = (signature, {"schema": "2.0", **before, "stages": stages})

    def checkout_data(self, files: list[str]) -> None:
        """Bring what `.dvc` files name from the cache; what the cache lacks stays away.

        Raises:
            CacheDamaged: it holds something else under that name.
        """
        from dvc.dvcfile import load_file

        for name in files:
            stage = load_file(self._repo, str(self.root / name)).stage
            hostile.refuse_outside(name, [Path(out.fs_path) for out in stage.outs], self.root)
            wanted = [out.hash_info.value for out in stage.outs if out.hash_info.value]
            found = look_through(self.cache_dir, wanted)
            altered = [one for one, what in found.damaged.items() if what == "altered"]
            if altered:
                raise CacheDamaged(name.removesuffix(".dvc"), place(self.cache_dir, altered[0]))
            stage.checkout(allow_missing=True, force=True)


def cache_of(workspace: Path) -> Path:
    """Return the cache's folder as DVC's configuration of a workspace says."""
    from dvc.config import Config

    dvc_dir = workspace / ".dvc"
    stated = Config(str(dvc_dir))["cache"].get("dir")
    return Path(stated) if stated else dvc_dir / "cache"


def _plain_deps(stage: Any) -> list[Any]:
    params = set(map(id, stage.params))
    return [dep for dep in stage.deps if id(dep) not in params]


def _folder(base: str, files: Mapping[str, Any]) -> Any:
    """Hash a folder inside an output as DVC would if it stood alone."""
    from dvc_data.hashfile import tree as trees
    from dvc_data.hashfile.meta import Meta

    new: Any = trees.Tree
    tree = new()
    for name, info in files.items():
        tree.add(tuple(name[len(base) + 1 :].split("/")), None, info)
    tree.digest()
    return Meta(isdir=True), tree.hash_info


def _asked(entry: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    deps = {dep["path"]: dep.get("md5") for dep in entry.get("deps", ())}
    params = {file: dict(values) for file, values in entry.get("params", {}).items()}
    return entry.get("cmd"), deps, params


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
