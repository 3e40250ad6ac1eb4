"""A run of the toy case, stage by stage, without Prefect."""

import threading
from datetime import UTC, datetime
from pathlib import Path

from toy_workspace import FakeRunner, quiet, toy_rows

from lineage import runs
from lineage.engine import Engine, Outcome
from lineage.provenance import RunRecord


def begin(workspace: Path) -> runs.Run:
    """Open a run's worktree."""
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=datetime.now(UTC))
    (run.tree / "environments.yaml").write_text("base: process:fake\n")
    return run


def logs_of(workspace: Path, run_id: str) -> Path:
    """Return where a run's logs stand."""
    return workspace / ".assay/logs" / run_id


def engine_of(run: runs.Run, runner: FakeRunner | None = None) -> Engine:
    """Return the engine of a run's worktree."""
    logs = logs_of(run.workspace, run.id)
    return Engine(run.tree, runner=runner or FakeRunner(), run_id=run.id, logs=logs)


def advance(engine: Engine, n: int = 2, on_line=quiet) -> list[Outcome]:
    """Bring both stages up to date."""
    return [engine.advance(one, on_line=on_line, cancel=threading.Event()) for one in toy_rows(n)]


def finish(run: runs.Run, outcomes: list[Outcome], state: str = "done") -> str:
    """Tag a run and return its id."""
    record = RunRecord(
        id=run.id,
        case=run.case,
        state=state,
        verdict="open",
        sentence="All is well.",
        commit=run.commit,
        parent=run.parent,
        dirty=list(run.dirty),
        isolation="process",
        started=run.started,
        ended=datetime.now(UTC).isoformat(),
        stages=[one.provenance for one in outcomes],
    )
    runs.close(run, record)
    return run.id


def whole_run(workspace: Path) -> str:
    """Make a run from its worktree to its tag and return its id."""
    run = begin(workspace)
    return finish(run, advance(engine_of(run)))
