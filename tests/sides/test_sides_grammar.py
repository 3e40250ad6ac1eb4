import ast
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "sides").glob("*.py"))
ALLOWED = set(sys.stdlib_module_names) | {"numpy", "sides"}
RUNTIMES = {"torch", "onnx", "onnxruntime"}  # imported when a side's model needs one, never before


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_side_can_be_read_by_python_3_8(path):
    ast.parse(path.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_side_imports_the_standard_library_and_numpy_only(path):
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported = {str(node.module).partition(".")[0]}
        else:
            continue
        assert imported <= (ALLOWED | RUNTIMES if id(node) in inside else ALLOWED)


def test_importing_the_sides_brings_nothing_else_in():
    names = ", ".join(f"sides.{path.stem}" for path in FILES if path.stem != "__init__")
    check = f"import sys, {names}; print('torch' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        check=True,
        cwd=FILES[0].parents[1],
    )
    assert done.stdout == "False False\n"
