"""Exactly the source files that a stage imports: what is mounted, and what DVC hashes."""

from functools import cache
from pathlib import Path

import grimp

from stages.stage import SideStage, Stage

PACKAGES = ("assay", "sides", "stages")


@cache
def _graph(cache_dir: str) -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=cache_dir)


def closure(stage: Stage | SideStage, workspace: Path) -> tuple[str, ...]:
    """Return the files that a stage's process imports, relative to the workspace, sorted.

    The static closure, imports inside functions included, with the `__init__.py` of every ancestor.
    Cost: one pass over the tree, then O(modules) a stage.
    """
    graph = _graph(str(workspace / ".assay/grimp"))
    modules: set[str] = set()
    for start in (stage.entry, work_module(stage)):
        modules |= {start} | graph.find_upstream_modules(start)
    modules |= {parent for module in modules for parent in _ancestors(module)}
    files = {_file(module, workspace) for module in modules}
    for extra in stage.files:
        found = [path for path in (workspace / extra).rglob("*") if path.is_file()]
        files |= {path.relative_to(workspace).as_posix() for path in found} or {extra}
    return tuple(sorted(files))


def work_module(stage: Stage | SideStage) -> str:
    """Return the module whose code does the work: a side's stands in `sides`."""
    return f"sides.{stage.name}" if isinstance(stage, SideStage) else stage.module


def _ancestors(module: str) -> list[str]:
    parts = module.split(".")[:-1]
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _file(module: str, workspace: Path) -> str:
    base = module.replace(".", "/")
    return f"{base}.py" if (workspace / f"{base}.py").is_file() else f"{base}/__init__.py"
