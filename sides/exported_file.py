"""Opens a file of `torch.export.save` without unpickling anything but tensors.

torch itself falls back to a full unpickling where a part of the file is no plain tensor (its sample
inputs; weights and constants that say `use_pickle`), and that runs whatever code the file names.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    from pathlib import Path

FORCED, UNFORCED = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def open_exported(path: Path) -> Any:
    """Return the exported program; a file that needs more than tensors is refused by torch."""
    import torch

    with _tensors_only():
        return torch.export.load(str(path))


@contextmanager
def _tensors_only() -> Iterator[None]:
    """Make every `torch.load` a `weights_only` one, also where the caller says otherwise."""
    before = {name: os.environ.pop(name, None) for name in (FORCED, UNFORCED)}
    os.environ[FORCED] = "1"
    try:
        yield
    finally:
        del os.environ[FORCED]
        os.environ.update({name: text for name, text in before.items() if text is not None})
