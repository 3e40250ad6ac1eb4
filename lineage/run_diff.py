"""What differs between two runs: data, params, code, environment, outputs; from their tags."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lineage import git, yaml12
from lineage.ancestry import kind_of
from lineage.provenance import DONE, Provenance, RunRecord
from lineage.run_tags import PREFIX, read_run

OF_IMAGES = ("environment", "image id", "registry digest", "Python", "torch")
"""What of `RunDiff.environment` is of an image, as in `Python of base`; all else is of the host."""

How = Literal["changed", "added", "removed"]
Outcome = Literal["same", "differs", "only in the old", "only in the new"]
Paths = dict[str, str]  # path -> hash


@dataclass(frozen=True, slots=True)
class Change:
    """One value that is not the same; None where a side has none."""

    what: str  # params.yaml gate.min_accuracy
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class CodeChange:
    """One file that stages depend on."""

    path: str
    how: How
    stages: tuple[str, ...]  # those that are made of it


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """Two runs side by side; what is equal is left out, but for the outputs."""

    old: RunRecord
    new: RunRecord
    data: tuple[Change, ...]  # hashes of the data folders and of what they were made from
    params: tuple[Change, ...]  # keys of params.yaml and of case.yaml, as written
    code: tuple[CodeChange, ...]
    environment: tuple[Change, ...]  # isolation, CPU class, image and environment keys
    outputs: Mapping[str, Outcome]  # stage -> its folder's hash


class _Side:
    """One run as its tag holds it."""

    def __init__(self, workspace: Path, record: RunRecord, *, alone: bool) -> None:
        self._alone = alone  # the other run is of the same case: paths stay as they are
        self.workspace = workspace
        self.record = record
        self._folder = f"cases/{record.case}"
        self.params = self._yaml("params.yaml")
        self.case = self._yaml(f"{self._folder}/case.yaml")
        code = self.case.get("code") or ["code"]
        self._code = [posixpath.normpath(f"{self._folder}/{root}") for root in code]

    def _yaml(self, path: str) -> Any:
        try:
            blob = f"{PREFIX}{self.record.id}:{path}"
            text = git.run(self.workspace, "cat-file", "blob", blob).decode()
        except git.GitError:
            return {}
        return yaml12.load(text) or {}

    def is_code(self, path: str) -> bool:
        """Tell code from data: code is the program's, and what `code:` of case.yaml lists."""
        return kind_of(path, self._code) == "code"

    def plain(self, path: str) -> str:
        """Return a path under which two cases' own files are the same."""
        own = path.removeprefix(f"{self._folder}/")
        return path if self._alone or own == path else f"CASE/{own}"

    def done(self) -> dict[str, Provenance]:
        return {stage.name: stage for stage in self.record.stages if stage.how in DONE}

    def inputs(self, stage: Provenance) -> Iterator[tuple[str, str]]:
        made = f"{self._folder}/artifacts/"
        for path, hashes in stage.inputs.items():
            if not path.startswith(made) and hashes.before:
                yield path, hashes.before

    def code(self) -> dict[str, dict[str, str]]:
        """Return {file: {stage: hash}}; a folder is told file by file, as git has it."""
        found: dict[str, dict[str, str]] = {}
        listed: dict[str, Paths] = {}
        for stage in self.done().values():
            for path, md5 in self.inputs(stage):
                if not self.is_code(path):
                    continue
                files = {path: md5}
                if md5.endswith(".dir"):
                    files = listed.setdefault(path, self._files(path)) or files
                for file, known in files.items():
                    found.setdefault(self.plain(file), {})[stage.name] = known
        return found

    def _files(self, folder: str) -> Paths:
        try:
            said = git.run(
                self.workspace, "ls-tree", "-r", "-z", f"{PREFIX}{self.record.id}", f"{folder}/"
            )
        except git.GitError:
            return {}
        lines = [line.split("\t", 1) for line in said.decode().split("\0") if line]
        return {path: facts.split()[2] for facts, path in lines}

    def data(self) -> Paths:
        """Return the hashes of the data folders, and of what else is no code: contract, weights."""
        found = {
            self.plain(path): md5
            for stage in self.done().values()
            for path, md5 in self.inputs(stage)
            if not self.is_code(path)
        }
        taken = self.done().get("data")
        for path, md5 in (taken.outputs if taken else {}).items():
            if md5.endswith(".dir") and path != f"{self._folder}/artifacts/data":
                found[self.plain(path)] = md5
        return found

    def environment(self) -> dict[str, Any]:
        stages = self.done().values()
        facts: dict[str, set[str]] = {"isolation": {self.record.isolation}}
        for stage in stages:
            inside = stage.inside or {}
            torch = inside.get("torch") or {}
            named = {
                "CPU class": inside.get("cpu_class"),
                "machine": inside.get("machine"),
                f"threads of {stage.name}": stage.limits.threads,
            }
            of_image = {
                f"environment of {stage.image}": stage.environment,
                f"image id of {stage.image}": stage.image_id,
                f"registry digest of {stage.image}": stage.base_digest,
                f"Python of {stage.image}": inside.get("python"),
                f"torch of {stage.image}": torch.get("version"),
                f"device of {stage.image}": torch.get("device"),
            }
            for name, value in (named | (of_image if stage.image else {})).items():
                if value is not None:
                    facts.setdefault(name, set()).add(str(value))
        return {name: ", ".join(sorted(values)) for name, values in facts.items()}


def compare(workspace: Path, old: str, new: str) -> RunDiff:
    """Compare two runs; neither is checked out, and no array is read.

    Args:
        workspace: the repository.
        old: the run that is compared with, as for `read_run`.
        new: the other.

    Raises:
        RunUnknown: none or several runs answer to a name.
    """
    records = [read_run(workspace, which) for which in (old, new)]
    alone = len({record.case for record in records}) == 1
    left, right = (_Side(workspace, record, alone=alone) for record in records)
    return RunDiff(
        old=left.record,
        new=right.record,
        data=_changes(left.data(), right.data()),
        params=_changes(_params(left), _params(right)),
        code=tuple(_code_changes(left, right)),
        environment=_environment(left, right),
        outputs=_outputs(left.done(), right.done()),
    )


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    names = [*old, *(name for name in new if name not in old)]
    pairs = ((name, old.get(name), new.get(name)) for name in names)
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])


def _environment(left: _Side, right: _Side) -> tuple[Change, ...]:
    """Compare what both say; a stage that stands in one run only is told by the outputs."""
    old, new = left.environment(), right.environment()
    both = [name for name in old if name in new]
    return _changes({name: old[name] for name in both}, {name: new[name] for name in both})


def _params(side: _Side) -> dict[str, Any]:
    found = {"params.yaml": side.params, "case.yaml": side.case}
    return {
        f"{file} {key}": value
        for file, content in found.items()
        for key, value in flatten(content).items()
    }


def flatten(content: Any, base: str = "") -> dict[str, Any]:
    """Return {dotted key: value}; the members of a list go by their names, where they have any."""
    if isinstance(content, Mapping):
        pairs = list(content.items())
    elif isinstance(content, list) and content and all(isinstance(one, Mapping) for one in content):
        names = [one.get("name") for one in content]
        unique = None not in names and len(set(names)) == len(names)
        pairs = [
            (name if unique else at, one)
            for at, (name, one) in enumerate(zip(names, content, strict=True))
        ]
    else:
        return {base: content}
    found: dict[str, Any] = {}
    for key, value in pairs:
        found |= flatten(value, f"{base}.{key}" if base else str(key))
    return found or {base: content}


def _code_changes(left: _Side, right: _Side) -> Iterator[CodeChange]:
    """Compare the files of the stages that both runs finished."""
    old, new = left.code(), right.code()
    both = [name for name in left.done() if name in right.done()]
    for path in sorted({*old, *new}):
        before, after = old.get(path, {}), new.get(path, {})
        stages = tuple(name for name in both if before.get(name) != after.get(name))
        if stages:
            was, is_ = (any(name in side for name in both) for side in (before, after))
            how: How = "changed" if was and is_ else "added" if is_ else "removed"
            yield CodeChange(path, how, stages)


def _outputs(old: Mapping[str, Provenance], new: Mapping[str, Provenance]) -> dict[str, Outcome]:
    said: dict[str, Outcome] = {}
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            said[name] = "only in the old"
        elif name not in old:
            said[name] = "only in the new"
        else:
            said[name] = "same" if _folder(old[name]) == _folder(new[name]) else "differs"
    return said


def _folder(stage: Provenance) -> str | None:
    """Return the hash of the stage's own folder: the shortest of its outputs' paths."""
    return stage.outputs[min(stage.outputs, key=len)] if stage.outputs else None
