"""A clone of its own for each test."""

from pathlib import Path

import pytest
from clone import Clone, make_clone


@pytest.fixture
def clone(tmp_path: Path, api: str) -> Clone:
    root = tmp_path / "workspace"
    root.mkdir()
    return make_clone(root, api)
