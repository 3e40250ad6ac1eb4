"""A run in a process of its own, for the tests that kill it or start two."""

import os
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from toy_workspace import FakeRunner, quiet, toy_rows  # noqa: E402

from lineage import runs  # noqa: E402
from lineage.engine import Engine  # noqa: E402
from lineage.provenance import RunRecord  # noqa: E402

SLEEP = """
def run(params, inputs, into):
    import os, time
    print("pid", os.getpid(), flush=True)
    time.sleep(97)
"""


def sleep(workspace: Path, kind: str) -> None:
    """Start a stage that prints its job's name and process, and sleeps."""
    from containers.docker_runner import DockerRunner
    from containers.process_runner import ProcessRunner

    runner = DockerRunner() if kind == "docker" else ProcessRunner()
    (workspace / "toys/first.py").write_text(SLEEP)
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=datetime.now(UTC))
    (run.tree / "environments.yaml").write_text(f"base: {runner.environment_key('base')}\n")
    names: list[str] = []
    start = runner.run
    runner.run = lambda job, **how: names.append(job.name) or start(job, **how)
    engine = Engine(run.tree, runner=runner, run_id=run.id, logs=workspace / ".assay/logs" / run.id)
    engine.advance(
        toy_rows()[0],
        on_line=lambda line: print(names[0], line.split()[-1], flush=True),
        cancel=threading.Event(),
    )


def main(workspace: Path, how: str) -> None:
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=datetime.now(UTC))
    (run.tree / "environments.yaml").write_text("base: process:fake\n")
    os.chdir(run.tree)
    runner = FakeRunner()
    if how == "die":
        runner.during = lambda job: (
            os.kill(os.getpid(), signal.SIGKILL) if job.labels["assay.stage"] == "second" else None
        )
    engine = Engine(run.tree, runner=runner, run_id=run.id, logs=workspace / ".assay/logs" / run.id)
    done = [engine.advance(one, on_line=quiet, cancel=threading.Event()) for one in toy_rows()]
    record = RunRecord(
        id=run.id,
        case="toy",
        state="done",
        verdict="open",
        sentence="All is well.",
        commit=run.commit,
        parent=run.parent,
        dirty=list(run.dirty),
        isolation="process",
        started=run.started,
        ended=datetime.now(UTC).isoformat(),
        stages=[one.provenance for one in done],
    )
    runs.close(run, record)
    print(run.id, *(one.how for one in done))


if __name__ == "__main__":
    start = sleep if sys.argv[2] in {"docker", "process"} else main
    start(Path(sys.argv[1]), sys.argv[2])
