"""Runs the stages that a diagnosis needs, one after another, in one process.

The same rows, jobs and entries as in an investigation; no container, no DVC, no server. `forks.py`
starts such processes from a warm one: imports would otherwise be most of a small case's time.
"""

import contextlib
import importlib
import io
import json
import os
import resource
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]
ROOMS = ("assay", "sides", "stages")
HEAVY = (
    *("numpy", "pandas", "scipy.stats", "scipy.optimize", "scipy.ndimage", "scipy.signal"),
    *(
        "scipy.fft",
        "torch",
        "torch._dynamo",
        "safetensors.torch",
        "PIL.Image",
        "PIL.JpegImagePlugin",
        "cv2",
    ),
    *("sklearn.linear_model", "great_expectations.expectations", "matplotlib.pyplot", "yaml"),
)
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
WANTED = "diagnose"


class Broken(Exception):  # noqa: N818  reads as the fact that it is
    """A stage of a case did not end well; the message says which, and what it said."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What came out, and what it took."""

    report: Mapping[str, Any]  # of diagnose
    first_step: str | None  # the first step whose output differs, of parity
    cpu_s: Mapping[str, float]  # row -> CPU seconds

    @property
    def total_s(self) -> float:
        """CPU seconds of the whole case, planning included."""
        return sum(self.cpu_s.values())


def open_workspace(root: Path) -> None:
    """Make an empty workspace that shares our rooms and params."""
    (root / "cases").mkdir(parents=True, exist_ok=True)
    (root / "data_contracts").mkdir(exist_ok=True)
    for name in (*ROOMS, "params.yaml"):
        with contextlib.suppress(FileExistsError):
            (root / name).symlink_to(SOURCE / name)


def warm_up(root: Path, more: Sequence[str] = ()) -> None:
    """Import what the stages import, and more, and read the graph of imports once."""
    for name in THREADS:
        os.environ[name] = "1"
    from flows.closure import closure
    from flows.plan import catalog

    for name in (*HEAVY, *more):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    for stage in catalog():
        for path in closure(stage, root):
            if path.endswith(".py") and not path.endswith("__init__.py"):
                importlib.import_module(path[:-3].replace("/", "."))
    import stages.table_summary

    # Evidently's summary of a table's columns is for the page; nothing reads it on the way there.
    stages.table_summary.summarise = lambda sim, real: {}  # noqa: ARG005
    _rehearse(root)


def _rehearse(root: Path) -> None:
    """Examine a tiny case in this very process: what libraries do at first use is then done."""
    from bench.rig import grown

    here = Path.cwd()
    grown.make_case(root, grown.KINDS["pictures"], 120)
    with contextlib.suppress(Broken):
        examine(root, grown.CASE)
    os.chdir(here)
    shutil.rmtree(root / "cases" / grown.CASE, ignore_errors=True)


def _cpu_s() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    programs = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + programs.ru_utime + programs.ru_stime


def examine(root: Path, case: str) -> Examined:
    """Examine one case of a workspace, in this process: it changes directory and imports the case.

    Raises:
        Broken: a stage failed.
    """
    from flows.case import load_case
    from flows.plan import named, plan

    os.chdir(root)
    began = _cpu_s()
    rows = plan(load_case(root, case))
    spent = {"plan": _cpu_s() - began}
    for row in rows:
        if row.name in _needed(rows):
            began = _cpu_s()
            _run_row(row)
            spent[row.name] = _cpu_s() - began
    artifacts = root / named(rows, WANTED).folder
    parity = json.loads((artifacts.parent / "parity/report.json").read_text(encoding="utf-8"))
    return Examined(
        report=json.loads((artifacts / "report.json").read_text(encoding="utf-8")),
        first_step=parity.get("first_differing_step"),
        cpu_s={name: round(cpu_s, 4) for name, cpu_s in spent.items()},
    )


def _needed(rows: Sequence[Any]) -> set[str]:
    """Return the rows that a diagnosis reads, directly or not."""
    from flows.plan import upstream

    reads = upstream(tuple(rows))
    found, left = {WANTED}, [WANTED]
    while left:
        for name in reads[left.pop()]:
            if name not in found:
                found.add(name)
                left.append(name)
    return found


def _run_row(row: Any) -> None:
    into = Path(row.folder)
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    job = {
        "schema": 1,
        "case": row.case,
        "name": row.name,
        "side": row.side,
        "stage": row.module.rpartition(".")[2],
        "module": row.module,
        "params": dict(row.params),
        "inputs": dict(row.inputs),
        "into": row.folder,
        "code": list(row.code_roots),
        "private": row.private,
    }
    file = into.parent / "job.json"
    file.write_text(json.dumps(job), encoding="utf-8")
    said = io.StringIO()
    path = list(sys.path)
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            status = importlib.import_module(row.entry).main(str(file))
        except SystemExit as left:
            status = left.code
    sys.path[:] = path
    (into / "inside.json").unlink(missing_ok=True)
    if status != 0:
        raise Broken(f"{row.case}: {row.name} ended with {status}: {said.getvalue()[-1500:]}")
