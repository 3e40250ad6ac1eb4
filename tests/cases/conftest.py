"""A case's code on the path while its tests run, as a stage puts it."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _case_code_on_the_path(request: pytest.FixtureRequest) -> Iterator[None]:
    folders: list[str] = request.module.CODE
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)
