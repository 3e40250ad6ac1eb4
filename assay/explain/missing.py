"""Values that are missing on one side and a number on the other: the mass point they became."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Explanation
from assay.explain.resort import Ask, prefixed

MIN_SEEN = 3
MIN_ROWS = 8  # without a missing value, to explain what else differs
NEAR = 1e-6
FIGURE_NEAR = 0.25  # of the deviation: a figure of other rows


def missing_value(
    reference: NDArray[Any], candidate: NDArray[Any], max_depth: int, ask: Ask
) -> Explanation | None:
    """Say what stands where the other side has no number, or one number that marks its absence.

    The mark of missing values is a mass point: one number for all, or one for each column.
    """
    if reference.shape != candidate.shape or reference.ndim < 2:  # noqa: PLR2004
        return None
    left, right = reference.astype(np.float64), candidate.astype(np.float64)
    changed = _differs(left, right)
    lost = np.isnan(left) != np.isnan(right)
    where = lost if lost.any() else changed
    if where.sum() < MIN_SEEN or where.all():
        return None
    had, got = (_mark(side, where, other) for side, other in ((left, right), (right, left)))
    if had is None or got is None or not (lost.any() or had[1] or got[1]):
        return None
    name = f"{had[0]} became {got[0]}"
    share = {"share": float(where.mean())}
    if not (changed & ~where).any():
        return prefixed("missing_value", name, dict(share), None)
    rows = ~where.reshape(len(where), -1).any(axis=1)
    if rows.sum() < MIN_ROWS or max_depth < 2:  # noqa: PLR2004
        return None
    then = ask(reference[rows], candidate[rows], max_depth - 1)
    return None if then is None else prefixed("missing_value", name, dict(share), then)


def _differs(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near = np.abs(left - right) <= NEAR * (1 + np.abs(left))
    return ~(near | (np.isnan(left) & np.isnan(right)))


def _mark(
    side: NDArray[np.float64], where: NDArray[np.bool_], other: NDArray[np.float64]
) -> tuple[str, bool] | None:
    """Name what stands at these places, and whether it is one for all; None: several numbers."""
    values = side[where]
    if np.isnan(values).all():
        return "missing values", True
    if not np.isfinite(values).all():
        return None
    if _alike(values):
        return f"{values[0]:.6g}", True
    columns, places = side.reshape(len(side), -1), where.reshape(len(side), -1)
    marks = {c: columns[places[:, c], c] for c in np.flatnonzero(places.any(axis=0))}
    if max(map(len, marks.values())) < 2 or not all(map(_alike, marks.values())):  # noqa: PLR2004
        return None
    known = np.where(places, np.nan, other.reshape(len(side), -1))[:, list(marks)]
    found = np.array([mark[0] for mark in marks.values()])
    return f"each column's {_figure(known, found)}", False


def _figure(known: NDArray[np.float64], found: NDArray[np.float64]) -> str:
    """Name the figure of each column that was put in; those of all rows are near those seen."""
    for text, figure in (("mean", np.nanmean), ("median", np.nanmedian)):
        wanted = figure(known, axis=0)
        if np.abs(wanted - found).max() <= FIGURE_NEAR * float(np.nanstd(known)):
            return text
    return "own number"


def _alike(values: NDArray[np.float64]) -> bool:
    return bool(np.ptp(values) <= NEAR * (1 + abs(float(values[0]))))
