"""A side's model, asked with batches: the case's own code, a file with its runtime, a program."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Union

import numpy as np

from sides import runtimes
from sides.case_code import CaseCodeError, calling, load
from sides.layers import NoLayers, hooked
from sides.program import BATCH_S, Program
from sides.runtime_files import SUFFIXES
from sides.torch_inside import left_training, module_inside

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.layers import Reading

RANK = 2  # rows, outputs
WEIGHTS = "{weights}"
Predict = Callable[["NDArray[Any]"], "NDArray[Any]"]
Stated = Union[str, Dict[str, Any]]  # module:function, a runtime's name, or {"command": [...]}


class Model(NamedTuple):
    """A model that is ready to be asked."""

    what: str  # candidate.model (net:build)
    ask: Predict
    reading: Reading  # opens named layers; raises NoLayers where this kind has none
    inner: Any = None  # what answers: the case's own object, or a runtime's; None: a program

    def training(self) -> List[str]:
        """Return the layers that stay in training mode although the model only answers."""
        if hasattr(self.inner, "training_layers"):  # a runtime's own way
            told: List[str] = self.inner.training_layers()
            return told
        module = module_inside(self.inner)
        return [] if module is None else left_training(module)


def said(stated: Stated) -> str:
    """Return how a model is stated, in one line."""
    return stated if isinstance(stated, str) else " ".join(stated["command"])


def build(stated: Stated, where: str, weights: Path) -> Any:
    """Return what the case's `build(folder)` does, or a callable for a model that is a file.

    Args:
        stated: module:function, or a runtime's name.
        where: the key that states it: `candidate.model`.
        weights: the folder of the weights, or one file, whose folder is then given.

    Raises:
        CaseCodeError: it cannot be found or failed, for one because the weights do not fit.
    """
    if not isinstance(stated, str):
        raise CaseCodeError(f"{where}: a program is asked, and cannot be taken apart.")
    if stated in SUFFIXES:
        return runtimes.load(stated, weights, where).ask
    function = load(stated, where)
    folder = weights.parent if weights.is_file() else weights
    with calling(f"{where} ({stated}), given the weights in {folder},"):
        return function(folder)


@contextmanager
def opened(stated: Stated, where: str, weights: Path, wanted: str) -> Iterator[Model]:
    """Open a model of any kind; a program ends with the block.

    Args:
        stated: module:function, a runtime's name, or a command.
        where: the key that states it: `candidate.model`.
        weights: the folder of the weights, or one file.
        wanted: `cpu`, or `auto` for a GPU where the case's own torch module can have one; a model
            that is a file runs on the CPU, as devices may stand in the file itself.

    Raises:
        CaseCodeError: it cannot be opened.
    """
    what = f"{where} ({said(stated)})"
    if not isinstance(stated, str):
        words = [word.replace(WEIGHTS, str(weights.absolute())) for word in stated["command"]]
        with Program(words, what, BATCH_S) as program:
            yield Model(what, as_function(program.ask, what, "cpu"), _no_layers("A program"))
            program.finish()
        return
    if stated in SUFFIXES:
        runtime = runtimes.load(stated, weights, where)
        yield Model(what, as_function(runtime.ask, what, "cpu"), runtime.reading, runtime)
        return
    model = build(stated, where, weights)
    ask = as_function(model, what, choose_device(wanted))
    yield Model(what, ask, _reading(model, ask, where), model)


def _reading(model: Any, ask: Predict, where: str) -> Reading:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return _no_layers(f"The model is a {type(model).__name__}, no torch module with layers: it")
    if isinstance(model, torch.jit.ScriptModule):
        return _no_layers("TorchScript")
    what = where.replace(".model", ".layers")
    return lambda layers: hooked(model, ask, layers, what)


def _no_layers(kind: str) -> Reading:
    def reading(layers: Sequence[str]) -> Any:  # noqa: ARG001  one signature for all
        raise NoLayers(f"{kind} does not show its layers.")

    return reading


def choose_device(wanted: str) -> str:
    """Return `cuda` where `auto` is wanted and the case's model brought a torch that has it."""
    torch = sys.modules.get("torch")
    if wanted == "auto" and torch is not None and torch.cuda.is_available():
        return "cuda"
    return "cpu"


def as_function(model: Any, what: str, device: str) -> Predict:
    """Wrap a torch module (in evaluation mode) or any callable as numpy in, (rows, outputs) out.

    A module that is in training mode as a whole was told nothing yet. One that was put into
    evaluation mode but for some layers answers here as it does where it serves.
    """
    torch = sys.modules.get("torch")
    ask = model
    if torch is not None and isinstance(model, torch.nn.Module):
        if model.training:  # as torch makes it
            model.eval()
        model.to(device)

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
            text = f"{what} made {type(made).__name__}; expected an array (rows, outputs)."
            raise CaseCodeError(text)
        if made.shape[:1] != batch.shape[:1] or made.ndim != RANK or made.dtype.kind not in "biuf":
            got = f"{made.dtype} {list(made.shape)}"
            text = f"{what} made {got} of {len(batch)} rows; expected numbers (rows, outputs)."
            raise CaseCodeError(text)
        return made

    return predict


def _to_numpy(made: Any) -> Any:
    return made.detach().cpu().numpy() if hasattr(made, "detach") else made
