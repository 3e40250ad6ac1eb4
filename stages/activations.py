"""What a torch model's layers answer, pooled to a bounded width and streamed in batches."""

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sides.case_code import CaseCodeError, calling

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

INPUT = "input"  # the tensor that the model is given: always the first layer
MAX_WIDTH = 512


def check_layers(model: "torch.nn.Module", layers: Sequence[str]) -> None:
    """Refuse names that the model does not have.

    Raises:
        CaseCodeError: lists the names that exist.
    """
    known = [name for name, _ in model.named_modules() if name]
    missing = [name for name in layers if name not in known]
    if missing:
        text = f"reference.layers: the model has no {', '.join(missing)}."
        raise CaseCodeError(f"{text} It has: {', '.join(known)}.")


def collect(
    model: "torch.nn.Module",
    layers: Sequence[str],
    tensors: "NDArray[np.float32]",
    rows: "NDArray[np.int64]",
    *,
    batch: int,
    device: str,
) -> "dict[str, NDArray[np.float32]]":
    """Return {layer: (rows, width)}, the input first, the others as listed.

    Each layer's answer is pooled to its mean over all axes after the second (a picture's
    positions), and where more than `MAX_WIDTH` columns are left, evenly spaced ones are kept. The
    input is flattened instead. A layer that runs several times in one pass counts by its last run.

    Memory: one batch, its activations, and rows x width of what is returned.

    Args:
        model: in evaluation mode here; its own mode comes back.
        layers: names of its modules.
        tensors: (all rows, ...), may be memory-mapped.
        rows: positions of those that are read, ascending.
        batch: rows in one pass.
        device: cpu or cuda.

    Raises:
        CaseCodeError: the model failed, or a listed layer does not run in a forward pass.
    """
    import numpy as np
    import torch

    parts: dict[str, list[NDArray[np.float32]]] = {name: [] for name in [INPUT, *layers]}
    mapped = getattr(tensors, "_mmap", None)
    model.to(device)
    with _watched(model, layers) as seen, torch.no_grad():
        for start in range(0, len(rows), batch):
            block = tensors[rows[start : start + batch]]  # copied out of the map
            given = torch.from_numpy(np.asarray(block, dtype=np.float32))
            seen.clear()
            seen[INPUT] = _columns(given.flatten(1))
            with calling("reference.model"):
                model(given.to(device))
            for name, pieces in parts.items():
                if name not in seen:
                    raise CaseCodeError(f"reference.layers: {name} does not run in a forward pass.")
                pieces.append(seen[name].float().cpu().numpy())
            if mapped is not None:  # else every page that was read stays in memory
                mapped.madvise(mmap.MADV_DONTNEED)
    return {name: np.concatenate(pieces) for name, pieces in parts.items()}


@contextmanager
def _watched(
    model: "torch.nn.Module", layers: Sequence[str]
) -> "Iterator[dict[str, torch.Tensor]]":
    """Note what the layers answer while the block runs, in evaluation mode."""
    modules = dict(model.named_modules())
    seen: dict[str, torch.Tensor] = {}

    def noter(name: str) -> Any:
        # Pooled at once: a later in-place activation would overwrite what is only referred to.
        return lambda _module, _given, answer: seen.update({name: _pooled(name, answer)})

    was_training = model.training
    model.eval()
    hooks = [modules[name].register_forward_hook(noter(name)) for name in layers]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
        model.train(was_training)


def _pooled(name: str, answer: Any) -> "torch.Tensor":
    import torch

    while isinstance(answer, tuple | list) and answer:  # recurrent layers answer (output, state)
        answer = answer[0]
    if not isinstance(answer, torch.Tensor) or answer.ndim == 0:
        raise CaseCodeError(f"reference.layers: {name} answers no tensor with rows.")
    rows = answer.detach().float()
    if rows.ndim == 1:
        rows = rows[:, None]
    return _columns(rows.flatten(2).mean(dim=2) if rows.ndim > 2 else rows)  # noqa: PLR2004


def _columns(rows: "torch.Tensor") -> "torch.Tensor":
    import numpy as np

    width = rows.shape[1]
    return rows[:, np.linspace(0, width - 1, min(width, MAX_WIDTH)).round().astype(np.int64)]
