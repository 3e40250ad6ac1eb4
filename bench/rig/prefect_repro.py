"""Another contestant: Prefect whose tasks each call `dvc repro -s`, the usual pairing."""

import os
import subprocess
import sys
from pathlib import Path

from bench.rig.chain import NAMES
from flows import server


def main(root: Path) -> None:
    """Run the chain as dvc.yaml says it."""
    os.environ.update(server.environment(server.ensure(root, print)))
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE

    @task(cache_policy=NO_CACHE, persist_result=False)
    def repro(name: str) -> None:
        words = [sys.executable, "-m", "dvc", "repro", "-q", "-s", f"cases/chain/dvc.yaml:{name}"]
        subprocess.run(words, cwd=root, check=True)

    @flow(persist_result=False)
    def chain() -> None:
        futures = []
        for name in NAMES:
            futures.append(repro.submit(name, wait_for=futures[-1:]))
        for future in futures:
            future.result()

    chain()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
