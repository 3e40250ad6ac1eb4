"""A side's model: built by the case's own code, asked with numpy batches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from sides.case_code import CaseCodeError, calling, load

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

RANK = 2  # rows, classes
Predict = Callable[["NDArray[Any]"], "NDArray[Any]"]


def build(call: str, where: str, weights: Path) -> Any:
    """Call the case's `build(folder)`.

    Args:
        call: module:function.
        where: the key that states it: `candidate.model`.
        weights: the folder of the weights, or one file, whose folder is then given.

    Raises:
        CaseCodeError: it cannot be found or failed, for one because the weights do not fit.
    """
    function = load(call, where)
    folder = weights.parent if weights.is_file() else weights
    with calling(f"{where} ({call}), given the weights in {folder},"):
        return function(folder)


def choose_device(wanted: str) -> str:
    """Return `cuda` where `auto` is wanted and the case's model brought a torch that has it."""
    torch = sys.modules.get("torch")
    if wanted == "auto" and torch is not None and torch.cuda.is_available():
        return "cuda"
    return "cpu"


def as_function(model: Any, what: str, device: str) -> Predict:
    """Wrap a torch module (in evaluation mode) or any callable as numpy in, (rows, classes) out."""
    torch = sys.modules.get("torch")
    ask = model
    if torch is not None and isinstance(model, torch.nn.Module):
        model.eval().to(device)

        def ask(batch: NDArray[Any]) -> Any:
            with torch.no_grad():
                return model(torch.from_numpy(batch).to(device))

    elif not callable(model):
        text = f"{what} returned {type(model).__name__}; expected a torch module or a callable."
        raise CaseCodeError(text)

    def predict(batch: NDArray[Any]) -> NDArray[Any]:
        with calling(what):
            made = _to_numpy(ask(batch))
        if not isinstance(made, np.ndarray):
            text = f"{what} made {type(made).__name__}; expected an array (rows, classes)."
            raise CaseCodeError(text)
        if made.shape[:1] != batch.shape[:1] or made.ndim != RANK or made.dtype.kind not in "biuf":
            got = f"{made.dtype} {list(made.shape)}"
            text = f"{what} made {got} of {len(batch)} rows; expected numbers (rows, classes)."
            raise CaseCodeError(text)
        return made

    return predict


def _to_numpy(made: Any) -> Any:
    return made.detach().cpu().numpy() if hasattr(made, "detach") else made
