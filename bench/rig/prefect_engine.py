"""One contestant: the project's own task and engine in a flow, as `assay run` would start them."""

import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

from bench.rig.chain import Chain
from flows import server


def main(root: Path, number: int) -> None:
    """Run the chain's round `number` in containers."""
    os.environ.update(server.environment(server.ensure(root, print)))
    from prefect import flow
    from prefect.futures import PrefectFuture
    from prefect.task_runners import ThreadPoolTaskRunner

    from containers.docker_runner import DockerRunner
    from flows import current
    from flows.investigate import advance as task
    from lineage.engine import Engine

    os.chdir(root)
    rows = {row.name: row for row in Chain(root).rows(number)}
    runner = DockerRunner()
    engine = Engine(root, runner=runner, run_id=f"bench-{number}", logs=root / ".assay/logs")
    cancel = threading.Event()

    def advance(name: str) -> str:
        return engine.advance(rows[name], on_line=lambda _line: None, cancel=cancel).how

    # Stands in for an Investigation: the chain has no case, no gate and no worktree.
    stand_in = SimpleNamespace(run=SimpleNamespace(id=engine.run_id), advance=advance)

    @flow(name="chain", persist_result=False, task_runner=ThreadPoolTaskRunner(max_workers=2))  # type: ignore[arg-type]
    def chain(run_id: str) -> None:
        last: list[PrefectFuture[str]] = []
        for name in rows:
            last = [task.with_options(name=name).submit(run_id, name, wait_for=last)]  # type: ignore[call-overload]
        last[0].result()

    chain(current.register(stand_in))
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
