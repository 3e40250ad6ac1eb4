"""Which names does a module define? Found by reading it; nothing of it is run."""

import ast
from collections.abc import Iterable
from pathlib import Path

DYNAMIC = frozenset({"globals", "vars", "locals", "exec", "eval", "setattr"})
"""Calls that may define any name, as `from x import *` and a module's `__getattr__` do."""
MAX_BYTES = 4 << 20  # of one module
INNER = (ast.stmt, ast.ExceptHandler, ast.match_case)


def defined_names(path: Path) -> set[str] | None:
    """Return what a module defines at its top level; None where only running it could tell.

    The bodies of `if`, `try`, `with`, `for` and `while` are at the top level too: either branch
    may be the one that runs.
    """
    tree = parsed(path)
    if tree is None:
        return None
    names: set[str] = set()
    for node in _statements(tree.body):
        found = _names_of(node)
        if found is None:
            return None
        names |= found
    return None if "__getattr__" in names else names


def parsed(path: Path) -> ast.Module | None:
    """Parse a module of a case; None where it is none, or one that no person wrote."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the last two: `---1`, a hundred thousand times


def _statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Yield the statements of a module's own scope, also those within compound ones."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                yield from _statements([part])
            elif isinstance(part, ast.ExceptHandler | ast.match_case):
                yield from _statements(part.body)


def _names_of(node: ast.stmt) -> set[str] | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        if any(alias.name == "*" for alias in node.names):
            return None
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    names = set()
    # The statements within one are asked by themselves.
    own = [part for part in ast.iter_child_nodes(node) if not isinstance(part, INNER)]
    for part in (part for one in own for part in ast.walk(one)):
        if isinstance(part, ast.Name) and part.id in DYNAMIC:
            return None
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
    return names
