"""A clone of its own for each test, and one Prefect server for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from clone import Clone, make_clone

from flows import server


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("server")
    yield server.ensure(home, print)
    server.stop(home)


@pytest.fixture
def clone(tmp_path: Path, api: str) -> Clone:
    root = tmp_path / "workspace"
    root.mkdir()
    return make_clone(root, api)
