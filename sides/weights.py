"""Which types the numbers of a model's weights have, read without loading them where one can."""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from sides.exported_file import open_exported

Types = List[Tuple[str, int]]  # of each tensor: its type, how many numbers it holds

NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
INTEGERS = {"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8"}
SAFETENSORS = {**NAMES, **INTEGERS, "BOOL": "bool"}
MAX_HEADER_BYTES = 100 << 20


def files_of(weights: Path) -> List[Tuple[str, Path]]:
    """Return the files of a folder of weights, or the one file, with their names; sorted."""
    if weights.is_file():
        return [(weights.name, weights)]
    found = [path for path in weights.rglob("*") if path.is_file()]
    return sorted((path.relative_to(weights).as_posix(), path) for path in found)


def dtypes_of(files: List[Tuple[str, Path]], model: Any) -> Tuple[Optional[Types], str]:
    """Return type and size of each tensor, or None and why nothing is known.

    A built torch module is asked first: it says what it computes in. Else the files are read.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return _state(model.state_dict()), ""
    found: Types = []
    reasons = []
    for name, path in files:
        reader = READERS.get(os.path.splitext(name)[1].lower())
        if reader is None:
            reasons.append(f"{name}: no format that is read here")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch.jit is deprecated; the file is what it is
                found += reader(path)
        except ImportError as error:
            reasons.append(f"{name}: this image has no {error.name}")
        except Exception as error:  # noqa: BLE001  a file of somebody else's; it only tells less
            reasons.append(f"{name}: {type(error).__name__}")
    if found:
        return found, ""
    return None, "; ".join(reasons) or "there are no weights"


def _safetensors(path: Path) -> Types:
    with open(str(path), "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > MAX_HEADER_BYTES:
            raise ValueError("its header is too long")
        header: Dict[str, Any] = json.loads(file.read(length).decode("utf-8"))
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    return [
        (SAFETENSORS.get(it["dtype"], it["dtype"]), int(np.prod(it["shape"], dtype=np.int64)))
        for it in tensors
    ]


def _npy(path: Path) -> Types:
    mapped = np.load(str(path), mmap_mode="r", allow_pickle=False)
    return [(mapped.dtype.name, int(mapped.size))]


def _npz(path: Path) -> Types:
    found = []
    with zipfile.ZipFile(str(path)) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                version = np.lib.format.read_magic(member)
                read = np.lib.format.read_array_header_1_0
                if version != (1, 0):
                    read = np.lib.format.read_array_header_2_0
                shape, _, dtype = read(member)
            found.append((dtype.name, int(np.prod(shape, dtype=np.int64))))
    return found


def _onnx(path: Path) -> Types:
    onnx: Any = importlib.import_module("onnx")

    graph = onnx.load(str(path), load_external_data=False).graph
    return [
        (
            np.dtype(onnx.helper.tensor_dtype_to_np_dtype(it.data_type)).name,
            int(np.prod(it.dims, dtype=np.int64)),
        )
        for it in graph.initializer
    ]


def _torch(path: Path) -> Types:
    torch: Any = importlib.import_module("torch")

    if zipfile.is_zipfile(str(path)):
        names = zipfile.ZipFile(str(path)).namelist()
        if any(name.endswith("/constants.pkl") for name in names):
            state = torch.jit.load(str(path), map_location="cpu").state_dict()
            return _state(state)
    loaded = torch.load(str(path), map_location="cpu", weights_only=True)
    return _state(loaded.get("state_dict", loaded))


def _exported(path: Path) -> Types:
    return _state(open_exported(path).state_dict)


def _state(state: Dict[str, Any]) -> Types:
    tensors = [it for value in state.values() for it in _tensors(value)]
    return [(str(it.dtype).replace("torch.", ""), int(it.numel())) for it in tensors]


def _tensors(value: Any) -> List[Any]:
    """Return a value's tensors: a quantised layer packs weight and bias into one."""
    if isinstance(value, (list, tuple)):
        return [it for part in value for it in _tensors(part)]
    return [value] if hasattr(value, "numel") else []


READERS = {
    ".safetensors": _safetensors,
    ".npy": _npy,
    ".npz": _npz,
    ".onnx": _onnx,
    ".pt": _torch,
    ".pth": _torch,
    ".pt2": _exported,
}
