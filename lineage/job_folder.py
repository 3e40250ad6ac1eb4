"""The folder of one job: a copy of the code, job.json, and the staging folder for outputs."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from containers.job import Mount
from containers.owner import Owner
from lineage.row import Row

HIDDEN = ("__pycache__", "*.pyc", ".git", ".dvc", ".venv", ".assay", "node_modules")
"""What .dvcignore keeps out of the hash is kept out of the job too."""

JOBS = ".assay/jobs"


class InputMissing(Exception):  # noqa: N818 - reads as the fact that it is
    """An input is not there; the message names it and the next step."""

    exit_status = 3

    def __init__(self, row: Row, path: str) -> None:
        if path in row.inputs.values():
            what, step = "needs", f"Bring it with `dvc pull {path}`, or build it with `dvc repro`."
        else:
            what = "is made of"
            step = (
                f"Bring it back with `git checkout -- {path}`, or write the graph anew with "
                "`make plan`."
            )
        super().__init__(f"{row.name} {what} {path}, which is not there. {step}")


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Where one job's files stand on the host, on the file system of its workspace."""

    top: Path

    @property
    def staging(self) -> Path:
        """What the stage writes."""
        return self.top / "out"

    @property
    def code(self) -> Path:
        """The copied closure: an edit during the run is not seen by it."""
        return self.top / "code"

    @property
    def old(self) -> Path:
        """Where the former outputs go on their way out."""
        return self.top / "old"


@contextmanager
def job_folder(row: Row, root: Path) -> Iterator[JobFolder]:
    """Make a job's folder and remove it after, whatever happened; also those of the dead."""
    jobs = root / JOBS
    jobs.mkdir(parents=True, exist_ok=True)
    sweep(root)
    top = Path(tempfile.mkdtemp(prefix=f"{row.name}-", dir=jobs))
    folder = JobFolder(top)
    try:
        (top / "owner").write_text(str(Owner.me()), encoding="utf-8")
        folder.staging.mkdir()
        folder.code.mkdir()
        yield folder
    finally:
        shutil.rmtree(top, ignore_errors=True)


def sweep(root: Path) -> None:
    """Remove the folders of jobs whose process is dead."""
    for left in (root / JOBS).glob("*"):
        try:
            owner = Owner.parse((left / "owner").read_text(encoding="utf-8"))
        except OSError:
            continue  # being made at this moment, or being removed
        if owner is not None and owner.is_dead():
            shutil.rmtree(left, ignore_errors=True)


def fill(folder: JobFolder, row: Row, root: Path) -> tuple[Mount, ...]:
    """Copy the code, write job.json and return what the job sees: nothing that is not declared.

    Raises:
        InputMissing: an input or a source is not there.
    """
    inputs = sorted({path for path in row.inputs.values() if path})
    for path in inputs:
        if not (root / path).exists():
            raise InputMissing(row, path)
    for source in row.sources:
        _copy(root / source, folder.code / source, source, row)
    (folder.top / "job.json").write_text(job_json(row), encoding="utf-8")
    code = [Mount(source=path, target=path.name) for path in sorted(folder.code.iterdir())]
    shown = [path for path in inputs if not _inside_another(path, inputs)]
    data = [Mount(source=(root / path).resolve(), target=path) for path in shown]
    own = [
        Mount(source=folder.top / "job.json", target="job.json"),
        Mount(source=folder.staging, target="out", writable=True),
    ]
    return (*code, *data, *own)


def _inside_another(path: str, others: list[str]) -> bool:
    return any(path.startswith(f"{other}/") for other in others)


def _copy(source: Path, target: Path, name: str, row: Row) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if source.is_dir():
            ignore = shutil.ignore_patterns(*HIDDEN)
            shutil.copytree(source, target, ignore=ignore, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
    except FileNotFoundError as error:
        raise InputMissing(row, name) from error


def job_json(row: Row) -> str:
    """Write what the stage is told: its params, its inputs, where to write."""
    content: dict[str, Any] = {
        "schema": 1,
        "case": row.case,
        "name": row.name,
        "stage": row.module.rpartition(".")[2],
        "module": row.module,
        "side": row.side,
        "params": dict(row.params),
        "inputs": dict(row.inputs),
        "into": "out",
        "code": list(row.code_roots),
        "private": row.private,
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
