"""Systematic errors: which confusions follow a rule, and would another map of labels mend them?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Counts = NDArray[np.int64]

MOST = 0.5  # of a class, to call it swallowed or exchanged
FLOODED = 0.6  # of all answers, to call it everything
RULED = 0.6  # of all mistakes, to call it off by one or mirrored
LEAST = 5  # rows of a class, or mistakes, to say anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Systematic:
    """One systematic error; `classes` are those that it is about."""

    kind: str  # everything_to_one, exchanged, swallowed, off_by_one, mirrored
    classes: tuple[int, ...]
    rows: int


def confusion(labels: Labels, answers: Labels, num_classes: int) -> Counts:
    """Count truth by answer; an answer outside the classes is left out.

    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[1, 0], [1, 1]]
    """
    table: Counts = np.zeros((num_classes, num_classes), dtype=np.int64)
    known = (answers >= 0) & (answers < num_classes) & (labels >= 0) & (labels < num_classes)
    np.add.at(table, (labels[known], answers[known]), 1)
    return table


def systematic(table: Counts) -> list[Systematic]:
    """Name the errors that follow a rule, those of most rows first.

    >>> systematic(np.array([[1, 9, 0], [8, 2, 0], [0, 0, 10]]))
    [Systematic(kind='exchanged', classes=(0, 1), rows=17)]
    """
    wrong = table - np.diag(np.diag(table))
    mistakes = int(wrong.sum())
    if mistakes < LEAST:
        return []
    found = [*_flooded(table), *_ruled(wrong, mistakes)]
    sizes = table.sum(axis=1)
    classes = range(len(table))
    into = {
        one: int(wrong[one].argmax())
        for one in classes
        if sizes[one] >= LEAST and wrong[one].max() >= MOST * sizes[one]
    }
    taken = {one.classes[0] for one in found if one.kind == "everything_to_one"}
    for one, other in into.items():
        if into.get(other) == one:
            if one < other:
                rows = int(wrong[one, other] + wrong[other, one])
                found.append(Systematic(kind="exchanged", classes=(one, other), rows=rows))
        elif other not in taken:
            rows = int(wrong[one, other])
            found.append(Systematic(kind="swallowed", classes=(one, other), rows=rows))
    return sorted(found, key=lambda one: -one.rows)


def _flooded(table: Counts) -> list[Systematic]:
    answers = table.sum(axis=0)
    most = int(answers.argmax())
    truth = int(table[most].sum())
    if answers[most] < FLOODED * answers.sum() or 2 * truth > answers[most]:
        return []
    rows = int(answers[most] - table[most, most])
    return [Systematic(kind="everything_to_one", classes=(most,), rows=rows)]


def _ruled(wrong: Counts, mistakes: int) -> list[Systematic]:
    count = len(wrong)
    if count < 4:  # noqa: PLR2004  with fewer any exchange would follow some rule
        return []
    labels = np.arange(count)
    found = []
    for kind, answers in (
        ("off_by_one", (labels + 1) % count),
        ("off_by_one", (labels - 1) % count),
        ("mirrored", count - 1 - labels),
    ):
        rows = int(wrong[labels, answers].sum())
        if rows >= RULED * mistakes:
            step = int(answers[0]) if kind == "off_by_one" else 0
            classes = (1,) if step == 1 else (-1,) if kind == "off_by_one" else ()
            found.append(Systematic(kind=kind, classes=classes, rows=rows))
    return found


def best_relabelling(table: Counts) -> list[int]:
    """Give the class to read each answer as, one to one, that makes most rows right (Hungarian).

    >>> best_relabelling(np.array([[1, 9], [8, 2]]))
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    # Where it makes no difference an answer stays what it is.
    stays = 0.5 * np.eye(len(table)) / max(1, len(table))
    truth, answers = linear_sum_assignment(table + stays, maximize=True)
    made = [0] * len(table)
    for one, other in zip(truth, answers, strict=True):
        made[int(other)] = int(one)
    return made
