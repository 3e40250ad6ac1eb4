"""What a run's exports tell: its record, what it was made from, and a digest of all that it made.

A pure function of the run's tag and the cache: written again later, it says the same.
"""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from lineage import git, yaml12
from lineage.cache_objects import place
from lineage.dvc_repo import cache_of
from lineage.objects import DIR, members
from lineage.provenance import DONE, Provenance, RunRecord
from lineage.remote import private_outs
from lineage.run_tags import PREFIX, read_run


class NotExportable(Exception):  # noqa: N818 - reads as the fact that it is
    """The run has nothing to export, or a file is none of ours; the message says what to do."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One file that a stage made."""

    path: str  # as in the run's worktree
    stage: str
    md5: str
    sha256: str | None  # None: the cache has lost it, or holds it damaged
    size_bytes: int | None
    source: Path
    private: bool  # it never leaves the machine that made it


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """All that is known of one run."""

    record: RunRecord
    files: tuple[Made, ...]
    tagged: Mapping[str, bytes]  # small files that the tag itself holds
    agent: str  # who tagged it

    @property
    def folder(self) -> str:
        """Where its case stands."""
        return f"cases/{self.record.case}"

    @property
    def stages(self) -> tuple[Provenance, ...]:
        """The stages that made something."""
        return tuple(one for one in self.record.stages if one.how in DONE and one.outputs)

    def yaml(self, name: str) -> Any:
        """Return a YAML file of the tag, parsed; empty where it holds none."""
        return yaml12.load(self.tagged.get(name, b"").decode()) or {}

    def sources(self) -> dict[str, str]:
        """Return {path: MD5} of code and data that no stage of the run made."""
        made = {path for stage in self.stages for path in stage.outputs}
        inside = f"{self.folder}/artifacts/"
        return {
            path: hashes.before
            for stage in self.stages
            for path, hashes in sorted(stage.inputs.items())
            if hashes.before and path not in made and not path.startswith(inside)
        }


def gather(workspace: Path, which: str) -> Export:
    """Read a run from its tag and the cache; each file that it made is read once.

    Args:
        workspace: the repository.
        which: the run, as for `read_run`.

    Raises:
        RunUnknown: there is no such run.
        NotExportable: it finished no stage.
    """
    record = read_run(workspace, which)
    found = [one for one in record.stages if one.how in DONE and one.outputs]
    if not found:
        raise NotExportable(f"Run {record.id} {record.state} and made nothing: there is no export.")
    cache, private = cache_of(workspace), private_outs(workspace, record.id)
    listed = [
        (path, stage.name, md5, min(stage.outputs, key=len) in private)
        for stage in found
        for path, md5 in sorted(_files(cache, stage).items())
    ]
    paths = [place(cache, md5) for _, _, md5, _ in listed]
    with ThreadPoolExecutor(4) as pool:
        digests = list(pool.map(_sha256, paths, [md5 for _, _, md5, _ in listed]))
    files = tuple(
        Made(
            path=path,
            stage=stage,
            md5=md5,
            sha256=digest,
            size_bytes=source.stat().st_size if digest else None,
            source=source,
            private=hidden,
        )
        for (path, stage, md5, hidden), source, digest in zip(listed, paths, digests, strict=True)
    )
    return Export(
        record=record,
        files=files,
        tagged=_tagged(workspace, record),
        agent=_tagger(workspace, record),
    )


def _files(cache: Path, stage: Provenance) -> dict[str, str]:
    folder = min(stage.outputs, key=len)
    inside = members(cache, stage.outputs[folder])
    if inside is None:  # the list is lost: what the stage declares is all that is known
        return {path: md5 for path, md5 in stage.outputs.items() if not md5.endswith(DIR)}
    return {f"{folder}/{name}": md5 for name, md5 in inside.items()}


def _sha256(path: Path, named: str) -> str | None:
    """Return the SHA-256 of an object; None where it is lost, or not what its name says."""
    told, known = sha256(), hashlib.md5(usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                told.update(block)
                known.update(block)
    except OSError:
        return None
    return told.hexdigest() if known.hexdigest() == named else None


def _tagged(workspace: Path, record: RunRecord) -> dict[str, bytes]:
    folder = f"cases/{record.case}"
    names = [f"{folder}/{name}" for name in ("dvc.yaml", "dvc.lock", "run.json", "case.yaml")]
    found = {}
    for name in [*names, "params.yaml", "environments.yaml"]:
        try:
            found[name] = git.run(workspace, "cat-file", "blob", f"{PREFIX}{record.id}:{name}")
        except git.GitError:
            continue
    return found


def _tagger(workspace: Path, record: RunRecord) -> str:
    said = git.text(workspace, "for-each-ref", "--format=%(taggername)", f"{PREFIX}{record.id}")
    return said or "unknown"


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a small file."""
    return sha256(content).hexdigest()


def differences(expected: Any, found: Any, at: str = "") -> list[str]:
    """Say where two documents differ, by key; lists of named things are matched by their names."""
    if isinstance(expected, dict) and isinstance(found, dict):
        said = []
        for key in [*expected, *(key for key in found if key not in expected)]:
            place = f"{at}.{key}" if at else str(key)
            if key not in found:
                said.append(f"{place}: missing")
            elif key not in expected:
                said.append(f"{place}: not of this run")
            else:
                said += differences(expected[key], found[key], place)
        return said
    if isinstance(expected, list) and isinstance(found, list):
        named, other = _by_name(expected), _by_name(found)
        if named is not None and other is not None:
            return differences(named, other, at)
        if len(expected) != len(found):
            return [f"{at}: {len(expected)} entries, not {len(found)}"]
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for i, (one, two) in pairs for line in differences(one, two, f"{at}[{i}]")]
    if type(expected) is type(found) and expected == found:
        return []
    return [f"{at}: {expected!r}, not {found!r}"]


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    for key in ("@id", "name", "uri"):
        if items and all(isinstance(one, dict) and isinstance(one.get(key), str) for one in items):
            named = {one[key]: one for one in items}
            return named if len(named) == len(items) else None
    return None
