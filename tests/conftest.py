"""What several rooms' tests need of the host."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from containers import images
from containers.engine import Client, connect
from containers.job import RunnerError
from flows import server

if "PYTEST_XDIST_WORKER" in os.environ:  # several processes with a thread a core hinder each other
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # numpy and torch, not imported yet, read it

# A property that holds is no less true on a busy machine. What `CI` asks for stays as it is.
settings.register_profile(
    "busy", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")


@pytest.fixture(scope="session")
def engine() -> Iterator[Client]:
    """A client of a real engine with the base image; its absence skips, or fails where required."""
    client = None
    try:
        client = connect()
        images.verify(client, ["base"])
    except RunnerError as error:
        if client is not None:
            client.close()
        if os.environ.get("ASSAY_REQUIRE_DOCKER") == "1":
            pytest.fail(f"ASSAY_REQUIRE_DOCKER=1, but: {error}")
        pytest.skip(str(error))
    yield client
    client.close()


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Prefect server for all tests that only need one."""
    home = tmp_path_factory.mktemp("server")
    yield server.ensure(home, print)
    server.stop(home)
