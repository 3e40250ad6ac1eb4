"""Runs of the toy case from its worktree to its tag, with the record that a real run writes."""

import threading
from datetime import UTC, datetime
from pathlib import Path

from toy_workspace import FakeRunner, quiet, toy_rows

from lineage import runs
from lineage.engine import Engine
from lineage.provenance import RunRecord

CASE = """\
code: [code]
candidate:
  steps:
  - {name: decode, call: "steps:decode"}
  - {name: scale, call: "steps:scale", args: {by: 255}}
"""


def run_toy(workspace: Path, second: int, *, n: int = 2, rows=None, **other) -> str:
    """Run the toy stages as one run and return its id."""
    rows = rows or toy_rows(n)
    now = datetime(2026, 11, 30, 16, 1, second, tzinfo=UTC)
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=now)
    key = other.pop("key", "process:fake")
    (run.tree / "environments.yaml").write_text(f"base: {key}\n")
    runner = FakeRunner(key, image_id="sha256:1", base_digest="sha256:2")
    logs = workspace / ".assay/logs"
    engine = Engine(run.tree, runner=runner, run_id=run.id, logs=logs, commit=run.commit)
    engine.flow_run_id = other.get("flow_run_id")
    made = [engine.advance(row, on_line=quiet, cancel=threading.Event()) for row in rows]
    engine.close()
    known = {
        "id": run.id,
        "case": "toy",
        "state": "done",
        "verdict": "closed",
        "sentence": "It is the preprocessing.",
        "commit": run.commit,
        "parent": run.parent,
        "isolation": "process",
        "started": run.started,
        "ended": run.started,
        "stages": [one.provenance for one in made],
    }
    runs.close(run, RunRecord(**(known | other)))
    return run.id
