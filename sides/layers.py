"""What a model's named layers answer, pooled to a bounded width and written batch by batch."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ContextManager,
    Dict,
    Iterator,
    List,
    Sequence,
    Tuple,
)

import numpy as np

from sides.case_code import CaseCodeError, calling
from sides.tensors import RowWriter

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.tensors import RowReader

INPUT = "input"  # the tensor that the model is given: always the first layer
MAX_WIDTH = 512
PICTURE_AXES = 2  # rows and channels; what follows are positions

Read = Callable[["NDArray[Any]"], Dict[str, "NDArray[Any]"]]
Reading = Callable[[Sequence[str]], ContextManager[Read]]


class NoLayers(Exception):  # noqa: N818  reads as the fact that it is
    """This kind of model does not show its layers; the message says why."""


def unknown(missing: Sequence[str], known: Sequence[str], what: str) -> CaseCodeError:
    """Return the error about names that a model does not have."""
    text = f"{what}: the model has no {', '.join(missing)}."
    return CaseCodeError(f"{text} It has: {', '.join(known)}.")


def columns(rows: Any) -> Any:
    """Keep evenly spaced columns where there are more than `MAX_WIDTH`; an array or a tensor."""
    width = rows.shape[1]
    return rows[:, np.linspace(0, width - 1, min(width, MAX_WIDTH)).round().astype(np.int64)]


def flat(batch: NDArray[Any]) -> NDArray[Any]:
    """Return the model's input as a layer: flattened, not pooled."""
    rows: NDArray[Any] = columns(batch.reshape(len(batch), -1))
    return rows


def pooled(answer: NDArray[Any]) -> NDArray[Any]:
    """Return an array's mean over all axes after the second (a picture's positions)."""
    rows = np.asarray(answer, dtype=np.float32)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim > PICTURE_AXES:
        rows = rows.reshape(rows.shape[0], rows.shape[1], -1).mean(axis=2, dtype=np.float32)
    made: NDArray[Any] = columns(rows)
    return made


def pooled_tensor(name: str, answer: Any) -> Any:
    """Return a torch answer pooled as `pooled` does, on its own device.

    Raises:
        CaseCodeError: it is no tensor with rows.
    """
    while isinstance(answer, (tuple, list)) and answer:  # recurrent layers answer (output, state)
        answer = answer[0]
    if not hasattr(answer, "detach") or answer.ndim == 0:
        raise CaseCodeError(f"layers: {name} answers no tensor with rows.")
    rows = answer.detach().float()
    if rows.ndim == 1:
        rows = rows[:, None]
    return columns(rows.flatten(2).mean(dim=2) if rows.ndim > PICTURE_AXES else rows)


@contextmanager
def hooked(
    module: Any, ask: Callable[[NDArray[Any]], Any], layers: Sequence[str], what: str
) -> Iterator[Read]:
    """Yield what reads a torch module's layers by hooks, while the block runs.

    A layer that runs several times in one pass counts by its last run.

    Args:
        module: a torch module whose submodules have names.
        ask: what runs it.
        layers: names of its submodules.
        what: the key that states them: `reference.layers`.

    Raises:
        CaseCodeError: a name is unknown, or its layer does not run in a forward pass.
    """
    modules = dict(module.named_modules())
    missing = [name for name in layers if name not in modules]
    if missing:
        raise unknown(missing, [name for name in modules if name], what)
    seen: Dict[str, Any] = {}

    def noter(name: str) -> Any:
        # Pooled at once: a later in-place activation would overwrite what is only referred to.
        return lambda _module, _given, answer: seen.update({name: pooled_tensor(name, answer)})

    def read(batch: NDArray[Any]) -> Dict[str, NDArray[Any]]:
        seen.clear()
        ask(batch)
        silent = [name for name in layers if name not in seen]
        if silent:
            raise CaseCodeError(f"{what}: {', '.join(silent)} does not run in a forward pass.")
        return {name: seen[name].cpu().numpy() for name in layers}

    hooks = [modules[name].register_forward_hook(noter(name)) for name in layers]
    try:
        yield read
    finally:
        for hook in hooks:
            hook.remove()


def record(
    folder: Path,
    reading: Reading,
    layers: Sequence[str],
    sets: Dict[str, Tuple[RowReader, List[int]]],
    *,
    batch: int,
    what: str,
) -> None:
    """Write the layers' answers to the chosen rows, as `stages.reports.predict` says.

    Memory: one batch and what it makes.

    Args:
        folder: is there already.
        reading: opens the layers of a model.
        layers: their names.
        sets: {sim or real: (tensors, positions of the rows that are read)}.
        batch: rows in one pass.
        what: the model, for messages.

    Raises:
        CaseCodeError: the model failed, or has no such layer.
        NoLayers: this kind of model does not show them; nothing was written.
    """
    stems = files([INPUT, *layers])
    with reading(layers) as read:
        for name, (tensors, rows) in sets.items():
            writers = {
                layer: RowWriter(folder / f"{stem}.{name}.npy", len(rows))
                for layer, stem in stems.items()
            }
            with calling(what):
                _record(read, writers, tensors, rows, batch)
    save_list(folder, [INPUT, *layers], {name: rows for name, (_, rows) in sets.items()}, None)


def _record(
    read: Read, writers: Dict[str, RowWriter], tensors: RowReader, rows: List[int], batch: int
) -> None:
    try:
        for start in range(0, len(rows), batch):
            given = tensors.take(rows[start : start + batch])
            answers = read(given)
            answers[INPUT] = flat(given)
            for layer, writer in writers.items():
                writer.write(answers[layer])
        if not rows:
            for writer in writers.values():
                writer.write(np.zeros((0, 0), np.float32))
    finally:
        for writer in writers.values():
            writer.close()


def files(layers: Sequence[str]) -> Dict[str, str]:
    """Return {layer: how its files are called}: its own name, or a plain one."""
    stems: Dict[str, str] = {}
    for at, layer in enumerate(layers):
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", layer).strip("_.") or "layer"
        stems[layer] = plain if plain == layer else f"{at:02d}_{plain}"[:80]
    return stems


def save_list(
    folder: Path, layers: Sequence[str], rows: Dict[str, List[int]], why_not: Any
) -> None:
    """Write layers.json."""
    content = {
        "layers": list(layers),
        "files": files(layers),
        "sim": rows.get("sim", []),
        "real": rows.get("real", []),
        "why_not": why_not,
    }
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    (folder / "layers.json").write_text(text, encoding="utf-8")
