"""What other tools say of the same case."""

from pathlib import Path
from typing import Any

from bench.planted.draft import Draft


def ask(draft: Draft, folder: Path) -> dict[str, Any]:
    """Return {peer: {fires, component, kind}}."""
    del draft, folder
    return {}
