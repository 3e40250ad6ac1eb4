import ast
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "sides").glob("*.py"))
ALLOWED = set(sys.stdlib_module_names) | {"numpy", "sides"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_side_can_be_read_by_python_3_8(path):
    ast.parse(path.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_side_imports_the_standard_library_and_numpy_only(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).partition(".")[0])
    assert imported <= ALLOWED


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
