"""The torch module inside a model: the model itself, or what a function or an object wraps."""

from __future__ import annotations

import functools
import sys
from typing import Any, Iterator, List, Optional

DEPTH = 4  # a method of an object whose field is a partial of a closure


def module_inside(model: Any) -> Optional[Any]:
    """Return the torch module that a model is or wraps; None where none is found.

    A callable is looked into: a method's object, a closure's cells, a partial's arguments, an
    object's fields. Globals are not: what stands there need not be what answers.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    seen: List[int] = []
    waiting = [(model, 0)]
    while waiting:
        value, depth = waiting.pop(0)
        if isinstance(value, torch.nn.Module):
            return value
        if depth < DEPTH and id(value) not in seen:
            seen.append(id(value))
            waiting += [(part, depth + 1) for part in _parts(value)]
    return None


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, functools.partial):
        yield value.func
        yield from value.args
        yield from value.keywords.values()
    owner = getattr(value, "__self__", None)
    if owner is not None and type(owner).__name__ != "module":
        yield owner
    for cell in getattr(value, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict) and callable(value):
        yield from list(fields.values())
    if isinstance(value, (list, tuple)):
        yield from value


def left_training(module: Any) -> List[str]:
    """Return the layers that answer otherwise than a model in evaluation mode would.

    Dropout and batch norm in training mode, and batch norm without running statistics.
    """
    found = []
    for name, part in module.named_modules():
        kind = getattr(part, "original_name", type(part).__name__)  # of a scripted module
        if "Dropout" in kind and part.training and getattr(part, "p", 1):
            found.append(f"{name or 'model'}: {kind}")
        elif "BatchNorm" in kind:
            if part.training:
                found.append(f"{name or 'model'}: {kind}")
            elif getattr(part, "running_mean", None) is None:
                found.append(f"{name or 'model'}: {kind} without running statistics")
    return found
