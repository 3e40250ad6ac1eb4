"""One contestant: the project's own flow and engine, as `assay run` would start them."""

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
    from containers.docker_runner import DockerRunner
    from flows import current
    from flows.investigate import investigate
    from lineage.engine import Engine

    os.chdir(root)
    rows = {row.name: row for row in Chain(root).rows(number)}
    runner = DockerRunner()
    engine = Engine(root, runner=runner, run_id=f"bench-{number}", logs=root / ".assay/logs")
    cancel = threading.Event()

    def advance(name: str) -> str:
        return engine.advance(rows[name], on_line=lambda _line: None, cancel=cancel).how

    # Stands in for an Investigation: the chain has no case, no gate and no worktree.
    stand_in = SimpleNamespace(
        run=SimpleNamespace(id=engine.run_id, tree=root),
        loaded=SimpleNamespace(name="chain", folder="cases/chain"),
        rows=tuple(rows.values()),
        runner=runner,
        advance=advance,
        report=lambda _place: {"verdict": "closed", "findings": []},
    )
    investigate(case="chain", run_id=current.register(stand_in))
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
