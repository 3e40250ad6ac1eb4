"""The engine itself is stopped under a stage and started again: a real one, of this test's own."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from killable import Toy, report, said

from bench.rig import toy_case
from bench.rig.toy_mother import Mother
from containers.engine import Client, connect

pytestmark = pytest.mark.docker

ENGINE = Path(__file__).resolve().parents[2] / ".ci/engine.sh"
SLOW = "import time; print('asleep', flush=True); time.sleep(6)"
QUICK = {"flows.investigate.advance.retry_delay_seconds": 1}


def engine_sh(action: str, folder: Path) -> None:
    flags = {"ENGINE_FLAGS": "--bridge none --iptables=false"}  # it is not alone on this host
    words = [str(ENGINE), action, str(folder)]
    subprocess.run(words, check=True, capture_output=True, env=os.environ | flags)


@pytest.fixture
def another(engine: Client, tmp_path: Path) -> Iterator[Path]:
    """A second engine with a small image in it; its socket's address is short."""
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("only root can start an engine of its own, where one is installed")
    image = os.environ.get("ASSAY_BASE_IMAGE", "")
    if not any(image in (one["RepoTags"] or ()) for one in engine.images()):
        pytest.skip("ASSAY_BASE_IMAGE names no image of this engine to copy")
    folder = Path(f"/tmp/assay-engine-{os.getpid()}")  # noqa: S108  a socket's path has 107 bytes
    engine_sh("start", folder)
    try:
        _copy(engine, image, folder)
        yield folder
    finally:
        engine_sh("stop", folder)
        shutil.rmtree(folder, ignore_errors=True)


def _copy(engine: Client, image: str, folder: Path) -> None:
    save = subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE)
    load = ["docker", "--host", f"unix://{folder}/docker.sock", "load"]
    subprocess.run(load, stdin=save.stdout, check=True, capture_output=True)
    save.communicate()
    assert save.returncode == 0


def test_a_stage_whose_engine_restarts_is_run_again(
    another: Path, mother: Mother, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = {"DOCKER_HOST": f"unix://{another}/docker.sock"}
    root = toy_case.make(tmp_path / "workspace", image=os.environ["ASSAY_BASE_IMAGE"])
    toy = Toy(root, mother, None)
    run = toy.asleep(code=SLOW, isolation="docker", constants=QUICK, **host)
    engine_sh("stop", another)
    time.sleep(1)
    engine_sh("start", another)
    assert run.wait() == 0, run.err
    assert report(toy) == said()
    [record] = toy.records()
    assert toy.stage_of(record, "parity").exit_reason == "done"
    assert toy.stage_of(record, "parity").how == "ran"
    monkeypatch.setenv("DOCKER_HOST", host["DOCKER_HOST"])
    client = connect()
    try:
        assert Toy(root, mother, client).is_tidy()
    finally:
        client.close()
