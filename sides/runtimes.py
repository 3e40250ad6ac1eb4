"""Models that are files: ONNX, TorchScript, exported programs; each runtime is imported when used.

None of them needs code of the case. A model says itself how many rows it takes at once where that
is fixed: it is then given just as many, the last rows filled up with copies that are cut off again.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence

import numpy as np

from sides.case_code import CaseCodeError, calling
from sides.exported_file import open_exported
from sides.layers import NoLayers, hooked, pooled, unknown
from sides.runtime_files import FAMILIES, PACKAGES, SUFFIXES
from sides.torch_inside import left_training
from sides.watching import joined, of_array, watched

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.layers import Read
    from sides.watching import Seen, Watch

ONNX_TYPES = {
    "tensor(float)": "f4",
    "tensor(float16)": "f2",
    "tensor(double)": "f8",
    "tensor(uint8)": "u1",
    "tensor(int8)": "i1",
    "tensor(int32)": "i4",
    "tensor(int64)": "i8",
}

NO_LAYERS = ("Constant", "Shape", "Identity", "Cast")  # of an ONNX graph: nothing is computed
SCRIPT_SHOWS_NONE = "TorchScript runs its layers inside its own interpreter and calls no hooks."


def weights_file(runtime: str, weights: Path, where: str) -> Path:
    """Return the model's file: the one given, or the only one of its kind in the folder.

    Raises:
        CaseCodeError: there is none, or several.
    """
    if weights.is_file():
        return weights
    kinds = SUFFIXES[runtime]
    found = sorted(path for path in weights.rglob("*") if path.suffix in kinds and path.is_file())
    if len(found) == 1:
        return found[0]
    wanted = " or ".join(f"*{kind}" for kind in kinds)
    if not found:
        raise CaseCodeError(f"{where}: {runtime}: no {wanted} in {weights}.")
    names = ", ".join(str(path.relative_to(weights)) for path in found)
    raise CaseCodeError(
        f"{where}: {runtime}: several {wanted} in {weights}: {names}. Name one in `weights`."
    )


def load(runtime: str, weights: Path, where: str) -> Any:
    """Open a model's file by its runtime.

    Raises:
        CaseCodeError: the image does not hold the runtime, or the file is no such model.
    """
    path = weights_file(runtime, weights, where)
    kinds = {"onnx": Onnx, "torchscript": TorchScript, "exported": Exported}
    try:
        with calling(f"{where} ({runtime}), given {path.name},"):
            return kinds[runtime](path, where)
    except CaseCodeError as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            name, family = PACKAGES[runtime], FAMILIES[runtime]
            text = f"{where}: {runtime}: the side's image holds no {name}. Use image: {family}."
            raise CaseCodeError(text) from error
        raise


def in_pieces(
    ask: Callable[[NDArray[Any]], NDArray[Any]], rows: Optional[int], batch: NDArray[Any]
) -> NDArray[Any]:
    """Ask a model that takes just `rows` rows at once; None: it takes any number."""
    if rows is None or rows == len(batch) or not len(batch):
        return ask(batch)
    made = []
    for start in range(0, len(batch), rows):
        piece = batch[start : start + rows]
        lacking = rows - len(piece)
        filled = np.concatenate([piece, np.repeat(piece[-1:], lacking, axis=0)])
        made.append(ask(filled)[: len(piece)])
    return np.concatenate(made)


class TorchScript:
    """A file of `torch.jit.save`."""

    def __init__(self, path: Path, where: str) -> None:  # noqa: ARG002  one signature for all
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.jit is deprecated; the file is what there is
            load_script: Any = torch.jit.load
            self._module = load_script(str(path), map_location="cpu")
        self._module.eval()

    def ask(self, batch: NDArray[Any]) -> Any:
        """Run one batch."""
        import torch

        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._module(torch.from_numpy(batch))

    def reading(self, layers: Sequence[str]) -> Any:  # noqa: ARG002  one signature for all
        """Say why its layers cannot be read."""
        raise NoLayers(SCRIPT_SHOWS_NONE)

    def watching(self) -> Any:
        """Say why its layers cannot be read."""
        raise NoLayers(SCRIPT_SHOWS_NONE)

    def training_layers(self) -> List[str]:
        """Return the layers that were scripted or traced in training mode."""
        return left_training(self._module)


class Exported:
    """A file of `torch.export.save`."""

    def __init__(self, path: Path, where: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._program = open_exported(path)
            self._module = self._program.module()
        self._where = where
        self._rows = _fixed_rows(self._program)

    def ask(self, batch: NDArray[Any]) -> Any:
        """Run one batch."""
        return in_pieces(lambda piece: self._run(self._module, piece), self._rows, batch)

    def _run(self, module: Any, batch: NDArray[Any]) -> Any:
        import torch

        with torch.no_grad():
            made = module(torch.from_numpy(batch))
        return made.numpy() if isinstance(made, torch.Tensor) else made

    @contextmanager
    def reading(self, layers: Sequence[str]) -> Iterator[Read]:
        """Read the submodules that the export kept the names of."""
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = torch.export.unflatten(self._program)
        what = self._where.replace(".model", ".layers")
        with hooked(module, lambda piece: self._run(module, piece), layers, what) as read:
            yield lambda batch: _read_in_pieces(read, self._rows, batch)

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """See all submodules that the export kept."""
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = torch.export.unflatten(self._program)
        with watched(module, lambda piece: self._run(module, piece)) as watch:
            yield lambda batch: _watch_in_pieces(watch, self._rows, batch)

    def training_layers(self) -> List[str]:
        """Return the batch norms and dropouts that the export fixed in training mode."""
        return sorted(
            f"{node.name}: {str(node.target).partition('.')[2]}"
            for node in self._program.graph.nodes
            if node.op == "call_function" and _trains(node)
        )


def _trains(node: Any) -> bool:
    """Tell whether an exported operator is batch norm or dropout in training mode."""
    called = str(node.target)
    if "batch_norm" in called and "no_training" not in called:
        return "functional" in called or "no_stats" in called or True in node.args
    return "dropout" in called and True in node.args


def _watch_in_pieces(watch: Watch, rows: Optional[int], batch: NDArray[Any]) -> List[Seen]:
    """Watch a model that takes just `rows` rows at once."""
    parts: List[List[Seen]] = []

    def ask(piece: NDArray[Any]) -> NDArray[Any]:
        parts.append(watch(piece))
        return piece

    in_pieces(ask, rows, batch)
    return joined(parts, len(batch))


def _read_in_pieces(read: Read, rows: Optional[int], batch: NDArray[Any]) -> Dict[str, Any]:
    """Read layers of a model that takes just `rows` rows at once."""
    parts: List[Dict[str, Any]] = []

    def ask(piece: NDArray[Any]) -> NDArray[Any]:
        parts.append(read(piece))
        return piece

    in_pieces(ask, rows, batch)
    return {name: np.concatenate([part[name] for part in parts])[: len(batch)] for name in parts[0]}


def _fixed_rows(program: Any) -> Optional[int]:
    """Return the first axis of the first input where the export fixed it."""
    first = program.graph_signature.user_inputs[0]
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name == first:
            shape = getattr(node.meta.get("val"), "shape", None)
            return shape[0] if shape and isinstance(shape[0], int) else None
    return None


class Onnx:
    """An ONNX file on onnxruntime's CPU provider: its first input, its first output."""

    def __init__(self, path: Path, where: str) -> None:
        self._path = path
        self._where = where
        self._session = _session(str(path))
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            names = ", ".join(one.name for one in inputs)
            text = f"{where}: onnx: the graph asks for {len(inputs)} inputs ({names}); expected one"
            raise CaseCodeError(f"{text}, a batch of tensors.")
        self._input = inputs[0]
        if self._input.type not in ONNX_TYPES:
            text = f"{where}: onnx: its input {self._input.name} is {self._input.type}"
            raise CaseCodeError(f"{text}; expected one of {', '.join(ONNX_TYPES)}.")
        self._output = self._session.get_outputs()[0].name
        first = self._input.shape[0] if self._input.shape else None
        self._rows = first if isinstance(first, int) and first > 0 else None

    def ask(self, batch: NDArray[Any]) -> NDArray[Any]:
        """Run one batch, in the type that the graph asks for."""
        given = _cast(batch, np.dtype(ONNX_TYPES[self._input.type]), self._where)
        return in_pieces(lambda piece: self._run(self._session, piece)[0], self._rows, given)

    def _run(self, session: Any, batch: NDArray[Any], names: Optional[List[str]] = None) -> Any:
        return session.run(names or [self._output], {self._input.name: batch})

    @contextmanager
    def reading(self, layers: Sequence[str]) -> Iterator[Read]:
        """Read named values of the graph, as outputs beside its own."""
        session = _session(self._with_outputs(list(layers)))

        def read(batch: NDArray[Any]) -> Dict[str, NDArray[Any]]:
            given = _cast(batch, np.dtype(ONNX_TYPES[self._input.type]), self._where)
            return _read_in_pieces(once, self._rows, given)

        def once(piece: NDArray[Any]) -> Dict[str, NDArray[Any]]:
            made = self._run(session, piece, list(layers))
            answers = dict(zip(layers, made))  # noqa: B905  Python 3.9 knows no strict
            odd = [name for name in layers if np.shape(answers[name])[:1] != (len(piece),)]
            if odd:
                raise CaseCodeError(f"layers: {', '.join(odd)} answers no tensor with rows.")
            return {name: pooled(answer) for name, answer in answers.items()}

        yield read

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """See the values that the graph's nodes compute, as outputs beside its own."""
        nodes = _graph(self._path).node
        known = {node.output[0]: node.op_type for node in nodes if node.output[0]}
        names = [name for name, kind in known.items() if kind not in NO_LAYERS]
        session = _session(self._with_outputs(names))

        def once(piece: NDArray[Any]) -> List[Seen]:
            answers = zip(names, self._run(session, piece, names))  # noqa: B905  see below
            rows = [(name, it) for name, it in answers if np.shape(it)[:1] == (len(piece),)]
            return [of_array(name, known[name], it) for name, it in rows if it.dtype.kind in "biuf"]

        def watch(batch: NDArray[Any]) -> List[Seen]:
            given = _cast(batch, np.dtype(ONNX_TYPES[self._input.type]), self._where)
            return _watch_in_pieces(once, self._rows, given)

        yield watch

    def training_layers(self) -> List[str]:
        """Return the batch norms that the graph states to be in training mode."""
        try:
            nodes = _graph(self._path).node
        except NoLayers:  # without the package nobody can tell
            return []
        return [
            f"{node.name or node.output[0]}: {node.op_type}"
            for node in nodes
            if any(one.name == "training_mode" and one.i for one in node.attribute)
        ]

    def _with_outputs(self, layers: List[str]) -> bytes:
        """Return the graph with its inner values of these names as further outputs."""
        model = _opened(self._path)
        import onnx

        known = [name for node in model.graph.node for name in node.output if name]
        missing = [name for name in layers if name not in known]
        if missing:
            raise unknown(missing, known, self._where.replace(".model", ".layers"))
        outputs = {one.name for one in model.graph.output}
        model.graph.output.extend(
            onnx.ValueInfoProto(name=name) for name in layers if name not in outputs
        )
        made: bytes = model.SerializeToString()
        return made


def _opened(path: Path) -> Any:
    try:
        import onnx
    except ImportError:
        text = "The side's image holds no package `onnx`, which names the values inside a graph."
        raise NoLayers(text) from None
    return onnx.load(str(path))


def _graph(path: Path) -> Any:
    return _opened(path).graph


def _session(model: Any) -> Any:
    """Open a session that computes the same bits every time: one thread, in order."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _cast(batch: NDArray[Any], dtype: Any, where: str) -> NDArray[Any]:
    """Return the batch in the type that a graph asks for.

    Raises:
        CaseCodeError: it asks for whole numbers, and these are none.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        given = batch.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(given, batch):
        text = f"{where}: onnx: its input takes {dtype.name}, and the last step's output does not"
        raise CaseCodeError(f"{text} fit: fractions, or numbers out of range.")
    return given
