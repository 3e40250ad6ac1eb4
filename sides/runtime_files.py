"""Models that are files: which files, which package opens them, which of our images holds it."""

from __future__ import annotations

SUFFIXES = {"onnx": (".onnx",), "torchscript": (".pt", ".ts"), "exported": (".pt2",)}
PACKAGES = {"onnx": "onnxruntime", "torchscript": "torch", "exported": "torch"}
FAMILIES = {"onnx": "onnx", "torchscript": "torch", "exported": "torch"}
