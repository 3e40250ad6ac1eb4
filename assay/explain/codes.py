"""Whole numbers that stand for things, given by another table: ids, tokens, categories."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

MAX_CODES = 4096
MIN_SEEN = 4  # values a code, in the mean: a table through fewer says little
AGREE = 0.995  # of the values
NAMED = 3
MANY_RISES, NEARLY_ALL, GAIN = 16, 0.9, 1.05


def codes(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the table from the reference's codes to the candidate's, where it is one.

    A table that only rises or falls, or rises by the same but for single falls, is a map of
    numbers, and told by other explainers.
    """
    if not aligned(reference, candidate):
        return
    had, got = reference.values, candidate.values
    if not (np.array_equal(had, np.rint(had)) and np.array_equal(got, np.rint(got))):
        return
    known, at = np.unique(had, return_inverse=True)
    if not 1 < len(known) <= MAX_CODES or had.size < MIN_SEEN * len(known):
        return
    table = _table(at.ravel(), got.ravel(), len(known))
    steps = np.diff(table)
    if (
        (table[at.ravel()] == got.ravel()).mean() < AGREE
        or (steps >= 0).all()
        or (steps <= 0).all()
        or _is_line(steps / np.diff(known))
    ):
        return
    moved = [(int(a), int(b)) for a, b in zip(known, table, strict=True) if a != b]
    told = ", ".join(f"{a} as {b}" for a, b in moved[:NAMED])
    more = f" and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
    same = set(known) == set(table)
    what = "codes exchanged" if same else "codes by another table"

    def apply(planes: Array) -> Array:
        places = np.clip(np.searchsorted(known, planes), 0, len(known) - 1)
        return np.where(known[places] == planes, table[places], planes)

    yield of_planes("code_table", f"{what}: {told}{more}", apply, cost=1.4, num_codes=len(known))


def _is_line(rises: Array) -> bool:
    """Say whether nearly all rises are one, that of no count: a line that starts again."""
    usual = float(np.median(rises))
    alike = np.abs(rises - usual) <= 1
    usual = float(rises[alike].mean())  # a gain of 1.4 rises by 1 and by 2
    return len(rises) >= MANY_RISES and usual > GAIN and bool(alike.mean() >= NEARLY_ALL)


def _table(at: NDArray[np.intp], got: Array, size: int) -> Array:
    """Give each code the candidate's most frequent one."""
    seen, place_of = np.unique(got, return_inverse=True)
    pairs, counts = np.unique(at * len(seen) + place_of, return_counts=True)
    table = np.zeros(size)
    for pair in pairs[np.argsort(counts, kind="stable")]:
        code, place = divmod(int(pair), len(seen))
        table[code] = seen[place]
    return table
