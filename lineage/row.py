"""One stage of one case, as plain data: what a plan hands to the engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All paths are posix and relative to the workspace (or to the worktree of a run)."""

    case: str
    name: str  # parity, preprocess-reference
    module: str  # stages.parity, sides.preprocess
    entry: str  # stages.enter or sides.enter: the module that the runner starts
    question: str
    side: str | None
    image: str
    threads: int
    memory_bytes: int
    timeout_s: float
    gpu: bool
    params: Mapping[str, Any]  # resolved values, as in job.json
    params_keys: Mapping[str, tuple[str, ...]]  # file -> keys as the file spells them
    inputs: Mapping[str, str | None]  # field -> path; None where the case names no path
    outputs: Mapping[str, str]  # field -> path, all inside `folder`
    folder: str  # the stage's own output folder, cases/NAME/artifacts/<name>: one DVC output
    sources: tuple[
        str, ...
    ]  # code that is mounted and hashed: files, or whole folders of the case's code
    code_roots: tuple[str, ...]  # folders of the case's code, put on the path in this order
    command: str  # what dvc.yaml says: enters through the runner
    private: bool = False  # the case says `pictures: none`
    holds_samples: bool = False  # in `folder`: samples, tensors made of them, ids or row by row

    @property
    def file(self) -> str:
        """The dvc.yaml that holds it."""
        return f"cases/{self.case}/dvc.yaml"

    @property
    def is_pushed(self) -> bool:
        """Whether `dvc push` takes its outputs to a remote."""
        return not (self.private and self.holds_samples)

    @property
    def deps(self) -> tuple[str, ...]:
        """What DVC hashes before it runs: inputs and sources, sorted, each once."""
        return tuple(sorted({path for path in self.inputs.values() if path} | set(self.sources)))
