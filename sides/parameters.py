"""The numbers of a model's weights, known by their content: whatever file they lie in.

A TorchScript file, a state dict and the model that was built of either hold the same tensors in
other wrappings. Each tensor's float32 bytes are hashed; the sorted hashes are hashed again.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import struct
import warnings
import zipfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from sides.exported_file import open_exported
from sides.torch_inside import module_inside

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MOST_TENSORS, MOST_VALUES = 64, 16  # that are told as they are
MAX_HEADER_BYTES = 100 << 20
MOST_BYTES = 1 << 30  # of weights that are hashed
MOST_CHECKED, MOST_LEVELS = 1 << 16, 256
STEP_ERROR, OFF_GRID = 1e-6, 0.02
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def facts(files: List[Tuple[str, Path]], model: Any) -> Dict[str, Any]:
    """Return `digest`, `samples`, `sizes` and `from_file` as `stages.reports.collect` says."""
    nothing: Dict[str, Any] = {"digest": None, "samples": [], "sizes": []}
    nothing.update({"from_file": None, "on_grid": None})
    if sum(path.stat().st_size for _, path in files) > MOST_BYTES:
        return nothing
    module = module_inside(model)
    of_files = _read(files)
    held = of_files
    if module is not None:
        held = [values for _, values in floats_of(module.state_dict())]
    if not held:
        return nothing
    known = {_digest(values) for values in of_files}
    total = sum(values.size for values in held)
    found = sum(values.size for values in held if _digest(values) in known)
    return {
        "digest": hashlib.sha256("".join(sorted(map(_digest, held))).encode("ascii")).hexdigest(),
        "samples": [_spaced(values) for values in _some(held)],
        "sizes": [int(values.size) for values in _some(held)],
        "from_file": found / total if of_files and module is not None and total else None,
        "on_grid": _on_grid([values for values in held if values.ndim > 1]),
    }


def _on_grid(held: List[NDArray[Any]]) -> Optional[float]:
    """Return the share of weights in tensors whose values are multiples of one step."""
    total = sum(values.size for values in held)
    return sum(values.size for values in held if is_grid(values)) / total if total else None


def is_grid(values: NDArray[Any]) -> bool:
    """Tell whether all values lie on few, evenly spaced levels: int8 and narrower."""
    levels = np.unique(values.ravel()[:MOST_CHECKED].astype(np.float64))
    if not 2 <= len(levels) <= MOST_LEVELS:  # noqa: PLR2004
        return False
    steps = np.diff(levels)
    steps = steps[steps > STEP_ERROR * np.abs(levels).max()]
    if not len(steps):
        return False
    times = levels / steps.min()
    return bool(np.abs(times - np.round(times)).max() < OFF_GRID) and np.abs(times).max() <= 255  # noqa: PLR2004


def _some(held: List[NDArray[Any]]) -> List[NDArray[Any]]:
    held = [values for values in held if values.size > 1]  # scales of quantisers are none
    at = np.linspace(0, len(held) - 1, min(len(held), MOST_TENSORS)).round().astype(int)
    return [held[one] for one in at]


def _spaced(values: NDArray[Any]) -> List[float]:
    flat = values.ravel()
    at = np.linspace(0, len(flat) - 1, min(len(flat), MOST_VALUES)).round().astype(int)
    return [float(one) if np.isfinite(one) else 0.0 for one in flat[at]]


def _digest(values: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, "<f4").tobytes()).hexdigest()


def _read(files: List[Tuple[str, Path]]) -> List[NDArray[Any]]:
    """Read the numbers of the files whose format is known; others only tell less."""
    found: List[NDArray[Any]] = []
    for name, path in files:
        reader = READERS.get(os.path.splitext(name)[1].lower())
        if reader is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch.jit is deprecated; the file is what it is
                found += [values for _, values in reader(path)]
        except Exception:  # noqa: BLE001, S112  a file of somebody else's
            continue
    return found


Named = Iterator[Tuple[str, "NDArray[Any]"]]


def floats_of(state: Any, name: str = "") -> Named:
    """Yield a state's tensors of fractions as float32, quantised ones as what they stand for."""
    if isinstance(state, dict):
        for key, value in state.items():
            yield from floats_of(value, f"{name}.{key}")
    elif isinstance(state, (list, tuple)):
        for at, value in enumerate(state):
            yield from floats_of(value, f"{name}.{at}")
    elif hasattr(state, "numel"):
        tensor = state.detach()
        tensor = tensor.dequantize() if tensor.is_quantized else tensor
        if tensor.is_floating_point() and tensor.numel():
            yield name, tensor.float().cpu().numpy()


def _safetensors(path: Path) -> Named:
    with open(str(path), "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > MAX_HEADER_BYTES:
            raise ValueError("its header is too long")
        header: Dict[str, Any] = json.loads(file.read(length).decode("utf-8"))
        for name, entry in header.items():
            dtype = FLOATS.get(entry.get("dtype", ""))
            if name == "__metadata__" or dtype is None:
                continue
            start, stop = entry["data_offsets"]
            file.seek(8 + length + start)
            raw = np.frombuffer(file.read(stop - start), dtype)
            if entry["dtype"] == "BF16":
                raw = (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
            yield name, raw.astype(np.float32)


def _npy(path: Path) -> Named:
    values = np.load(str(path), allow_pickle=False)
    if values.dtype.kind == "f":
        yield "", values.astype(np.float32)


def _npz(path: Path) -> Named:
    with np.load(str(path), allow_pickle=False) as archive:
        for name in archive.files:
            if archive[name].dtype.kind == "f":
                yield name, archive[name].astype(np.float32)


def _onnx(path: Path) -> Named:
    onnx: Any = importlib.import_module("onnx")
    for one in onnx.load(str(path)).graph.initializer:
        values = onnx.numpy_helper.to_array(one)
        if values.dtype.kind == "f":
            yield one.name, values.astype(np.float32)


def _torch(path: Path) -> Named:
    torch: Any = importlib.import_module("torch")
    if zipfile.is_zipfile(str(path)):
        names = zipfile.ZipFile(str(path)).namelist()
        if any(name.endswith("/constants.pkl") for name in names):
            return floats_of(dict(torch.jit.load(str(path), map_location="cpu").state_dict()))
    loaded = torch.load(str(path), map_location="cpu", weights_only=True)
    return floats_of(loaded.get("state_dict", loaded))


def _exported(path: Path) -> Named:
    return floats_of(dict(open_exported(path).state_dict))


READERS = {
    ".safetensors": _safetensors,
    ".npy": _npy,
    ".npz": _npz,
    ".onnx": _onnx,
    ".pt": _torch,
    ".ts": _torch,
    ".pth": _torch,
    ".pt2": _exported,
}
