"""Samples of several shapes: each shape is explained by itself, and all by the same kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Explanation
from assay.explain.turns import TURNS

Rows: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]]
Ask: TypeAlias = Callable[[NDArray[Any], NDArray[Any], frozenset[str] | None], Explanation | None]
"""Explain these arrays, of these kinds only where they are given."""

MAX_SHAPES = 32  # more are not explained
MAX_FREE = 3  # shapes, the commonest, for which all kinds are tried; the others follow these
SOME = "some_rows"
TURNED = {kind: name for kind, name, _ in TURNS}


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one shape that differ, and what explains them."""

    left: NDArray[Any]
    right: NDArray[Any]
    found: Explanation

    @property
    def kinds(self) -> tuple[str, ...]:
        """Give what was done, on however many rows."""
        return tuple(kind for kind in self.found.parts if kind != SOME)

    @property
    def changed(self) -> float:
        """Count the rows that it was done to."""
        of_rows = [v for k, v in self.found.parameters.items() if k.rpartition(".")[2] == "share"]
        share = of_rows[0] if SOME in self.found.parts and of_rows else 1.0
        return len(self.left) * (share if isinstance(share, float) else 1.0)


def by_shape(reference: Rows, candidate: Rows, ask: Ask) -> Explanation | None:
    """Explain lists of arrays whose shapes differ from row to row.

    Args:
        reference: an array a row.
        candidate: the same rows; a row's shape may be another than the reference's.
        ask: explains rows of equal shapes.

    Returns:
        The kind that explains all rows that differ; its parameters are those of the commonest
        shape. Turns may be several, as files are turned by what they say of themselves.
    """
    groups = groups_of(reference, candidate)
    if len(groups) > MAX_SHAPES:
        return None
    parts: list[Part] = []
    left_alone: list[list[int]] = []  # groups of which some rows, or all, are equal
    free = MAX_FREE
    for rows in groups:
        left, right = _stacked(reference, rows), _stacked(candidate, rows)
        same = _equal_rows(left, right)
        left_alone += [rows] if same.any() else []
        if same.all():
            continue
        left, right = left[~same], right[~same]
        found = ask(left, right, frozenset(parts[0].kinds)) if parts else None
        if found is None and free:
            free -= 1
            found = ask(left, right, None)
        if found is None:
            return None
        parts.append(Part(left, right, found))
    parts = _by_one_kind(parts, ask)
    if not parts:
        return None
    changed = {part.left.shape[1:] for part in parts}
    kinds = frozenset(parts[0].kinds)
    # Of shapes that are all equal nothing is known; what leaves single rows of a shape as they
    # are, as clipping may, is told of all rows.
    some = any(
        _unlike(ask(_stacked(reference, rows), _stacked(candidate, rows), kinds))
        for rows in left_alone
        if reference[rows[0]].shape in changed
    )
    return _said(parts, some, len(reference))


def _stacked(side: Rows, rows: list[int]) -> NDArray[Any]:
    return np.stack([side[row] for row in rows])


def _unlike(found: Explanation | None) -> bool:
    """Say whether a shape's rows together are not explained: by nothing, or as no difference."""
    return found is None or found.kind == "identity"


def groups_of(*sides: Rows) -> list[list[int]]:
    """Give the rows of each combination of shapes, the commonest first."""
    groups: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for row, values in enumerate(zip(*sides, strict=True)):
        groups.setdefault(tuple(value.shape for value in values), []).append(row)
    return sorted(groups.values(), key=len, reverse=True)


def _equal_rows(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    if left.shape != right.shape:
        return np.zeros(len(left), dtype=np.bool_)
    return np.array(
        [np.array_equal(a, b, equal_nan=True) for a, b in zip(left, right, strict=True)]
    )


def _by_one_kind(parts: list[Part], ask: Ask) -> list[Part]:
    """Bring all parts under one kind, the plainest of those found; turns may be several."""
    if all(set(part.kinds) <= set(TURNED) for part in parts):
        return parts  # none, or turns
    for kinds in sorted({part.kinds for part in parts}, key=len):
        found = [
            part.found if part.kinds == kinds else ask(part.left, part.right, frozenset(kinds))
            for part in parts
        ]
        told = [Part(p.left, p.right, f) for p, f in zip(parts, found, strict=True) if f]
        if len(told) == len(parts) and all(set(part.kinds) == set(kinds) for part in told):
            return told
    return []


def _said(parts: list[Part], some: bool, num_rows: int) -> Explanation:
    first = parts[0].found
    weights = [len(part.left) for part in parts]
    explained = float(
        np.average([part.found.residual_explained for part in parts], weights=weights)
    )
    changed = sum(part.changed for part in parts) / num_rows
    kinds = tuple(dict.fromkeys(kind for part in parts for kind in part.kinds))
    turned = len(kinds) > len(parts[0].kinds)
    if not some and not turned and SOME not in first.parts:
        each = len({part.found.name for part in parts}) > 1
        return Explanation(
            name=f"{first.name} (and so for {len(parts)} shapes)" if each else first.name,
            kind=first.kind,
            parameters=first.parameters,
            residual_explained=explained,
            parts=first.parts,
            alternatives=first.alternatives,
        )
    if set(kinds) <= set(TURNED):
        what = ", or ".join(TURNED[kind] for kind in kinds)
    else:
        what = first.name.rpartition("rows: ")[2]
    share: dict[str, Any] = {"share": changed}
    return Explanation(
        name=f"on {100 * changed:.0f} % of the rows: {what}",
        kind="+".join((SOME, *kinds)),
        parameters=share | ({} if len(parts) > 1 else first.parameters) | share,
        residual_explained=explained,
        parts=(SOME, *kinds),
    )
