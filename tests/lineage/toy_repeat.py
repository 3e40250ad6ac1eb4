"""Runs of the toy workspace as `assay run` would make them, in this process and in milliseconds."""

import os
import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from toy_workspace import FakeRunner, quiet, toy_rows

from lineage import runs
from lineage.engine import Engine
from lineage.provenance import RunRecord

LATER_S = count()  # ids tell seconds: runs of one second would have no order


def toy_run(root: Path, *, runner: FakeRunner | None = None, **stated) -> RunRecord:
    """Run the two toy stages and close the run; `stated` goes into its record."""
    runner = runner or FakeRunner()
    stated = {"state": "done", "sentence": "It is what it is.", "isolation": "process", **stated}
    before = Path.cwd()
    now = datetime.now(UTC) + timedelta(seconds=next(LATER_S))
    run = runs.create(root, "toy", expose=["cases/toy"], now=now)
    (run.tree / "environments.yaml").write_text(f"base: {runner.key}\n")
    os.chdir(run.tree)
    engine = Engine(run.tree, runner=runner, run_id=run.id, logs=root / ".assay/logs" / run.id)
    try:
        made = [
            engine.advance(row, on_line=quiet, cancel=threading.Event()).provenance
            for row in toy_rows()
        ]
        record = RunRecord(
            id=run.id, case="toy", commit=run.commit, parent=run.parent, dirty=list(run.dirty),
            started=run.started, ended=datetime.now(UTC).isoformat(), stages=made, **stated,
        )  # fmt: skip
        engine.close()
        runs.close(run, record)
    finally:
        os.chdir(before)
    return record
