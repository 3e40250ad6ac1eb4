"""Everything that a model computes on its way: each module's answer, pooled, with its range.

Reading named layers (`sides.layers`) serves the comparison of simulation with the field. Two
models given the same tensors are compared at every layer that their runtime shows.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterator, List, NamedTuple

import numpy as np

from sides.case_code import CaseCodeError
from sides.layers import NoLayers, pooled, pooled_tensor
from sides.torch_inside import module_inside

if TYPE_CHECKING:
    from typing import Optional

    from numpy.typing import NDArray

    from sides.model import Model

MOST = 200  # modules: of more, evenly spaced ones
WORDS = 200  # letters of what a runtime calls an operator


class Seen(NamedTuple):
    """One layer's answer to a batch."""

    name: str
    operator: str  # as the runtime writes it: MaxPool2d(kernel_size=2, ..., ceil_mode=False)
    pooled: NDArray[Any]
    max_abs: Optional[float]  # of the finite values before pooling; None: there are none
    num_not_finite: int


Watch = Callable[["NDArray[Any]"], List[Seen]]


def watching(model: Model) -> ContextManager[Watch]:
    """Open a model's layers, in the order in which they run.

    Raises:
        NoLayers: this kind of model does not show them; the message says why.
    """
    inner = model.inner
    if hasattr(inner, "watching"):  # a runtime's own way
        opened: ContextManager[Watch] = inner.watching()
        return opened
    module = module_inside(inner)
    if module is None or hasattr(module, "original_name"):  # a script calls no hooks
        with model.reading([]):  # says why not
            pass
        raise NoLayers("The model does not show its layers.")
    return watched(module, model.ask)


@contextmanager
def watched(module: Any, ask: Callable[[NDArray[Any]], Any]) -> Iterator[Watch]:
    """Yield what sees a torch module's innermost modules by hooks, while the block runs.

    A module that runs several times in one pass is told each time: `relu`, `relu#2`.
    """
    parts = [
        (name, part)
        for name, part in module.named_modules()
        if name and not any(True for _ in part.children()) and not hasattr(part, "original_name")
    ]
    kept = np.linspace(0, len(parts) - 1, min(len(parts), MOST)).round().astype(int)
    seen: List[Seen] = []

    def noter(name: str) -> Any:
        def note(part: Any, _given: Any, answer: Any) -> None:
            try:
                found = of_tensor(name, " ".join(repr(part).split())[:WORDS], answer)
            except CaseCodeError:  # it answers no tensor with rows: a table, a state
                return
            runs = sum(one.name.partition("#")[0] == name for one in seen)
            seen.append(found._replace(name=f"{name}#{runs + 1}") if runs else found)

        return note

    def watch(batch: NDArray[Any]) -> List[Seen]:
        seen.clear()
        ask(batch)
        return list(seen)

    hooks = [parts[at][1].register_forward_hook(noter(parts[at][0])) for at in kept]
    try:
        yield watch
    finally:
        for hook in hooks:
            hook.remove()


def of_tensor(name: str, operator: str, answer: Any) -> Seen:
    """Pool a torch answer, and take its range before."""
    while isinstance(answer, (tuple, list)) and answer:
        answer = answer[0]
    if getattr(answer, "is_quantized", False):
        answer = answer.dequantize()
    rows = pooled_tensor(name, answer).cpu().numpy()
    values = answer.detach()
    if values.is_floating_point():
        values = values.float()
        finite = values.isfinite()
        bad = int(values.numel() - finite.sum())
        held = values.abs() if not bad else values[finite].abs()
        largest = float(held.max()) if held.numel() else None
    else:
        bad, largest = 0, float(values.float().abs().max()) if values.numel() else None
    return Seen(name, operator, rows, largest, bad)


def of_array(name: str, operator: str, answer: NDArray[Any]) -> Seen:
    """Pool an array, and take its range before."""
    finite = np.isfinite(answer)
    held = np.abs(answer[finite].astype(np.float64))
    largest = float(held.max()) if held.size else None
    return Seen(name, operator, pooled(answer), largest, int(answer.size - finite.sum()))


def joined(parts: List[List[Seen]], rows: int) -> List[Seen]:
    """Put several batches together, the rows of the last cut to what was asked."""
    by_name: Dict[str, List[Seen]] = {}
    for part in parts:
        for one in part:
            by_name.setdefault(one.name, []).append(one)
    whole = [found for found in by_name.values() if len(found) == len(parts)]
    return [_joined(found, rows) for found in whole if _stacks(found)]


def _stacks(found: List[Seen]) -> bool:
    return len({one.pooled.shape[1:] for one in found}) == 1


def _joined(found: List[Seen], rows: int) -> Seen:
    largest = [one.max_abs for one in found if one.max_abs is not None]
    return found[0]._replace(
        pooled=np.concatenate([one.pooled for one in found])[:rows],
        max_abs=max(largest) if largest else None,
        num_not_finite=sum(one.num_not_finite for one in found),
    )
