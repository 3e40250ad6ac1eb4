"""Faults between the raw output and the answer: maps, thresholds, softmax."""

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import kind

Rng = np.random.Generator
WHERE = "postprocessing"
MANY = "digits glyphs signs motion tones"
RULES = "motion cells"
SOFT = """
likely = np.exp(outputs - outputs.max(axis=1, keepdims=True))
likely /= likely.sum(axis=1, keepdims=True)
"""


def plain(draft: Draft) -> str:
    """Return the line that answers as the reference does."""
    own = "own.answer(outputs)" if draft.base.answers else "np.argmax(outputs, axis=1)"
    return f"labels = np.asarray({own})\n"


def rule(draft: Draft, bar: float | None = None) -> str:
    """Return the lines that turn `likely` into labels as the reference does, at its bar."""
    if draft.base.name == "cells":
        return f"labels = (likely[:, 1] > {0.6 if bar is None else bar}).astype(np.int64)\n"
    least = 0.5 if bar is None else bar
    return f"labels = np.where(likely.max(axis=1) >= {least}, likely.argmax(axis=1), 0)\n"


@kind(WHERE, "label_map", "digits glyphs signs motion tones cells")
def label_offset(draft: Draft, severity: int, rng: Rng) -> None:
    """A class that one side counts and the other does not."""
    del rng
    classes = draft.base.classes or 2
    by = (1, classes - 1, max(1, classes // 2))[severity]
    draft.answer(plain(draft) + f"labels = (labels + {by}) % {classes}")


@kind(WHERE, "label_map", MANY)
def label_permutation(draft: Draft, severity: int, rng: Rng) -> None:
    """Classes in the order of another list: two, three, or all of them."""
    classes = draft.base.classes or 2
    order = np.arange(classes)
    num = (2, 3, classes)[severity]
    chosen = np.sort(rng.choice(classes, num, replace=False))
    order[chosen] = np.roll(chosen, 1)
    draft.answer(plain(draft) + f"labels = np.array({order.tolist()})[labels]")


@kind(WHERE, "threshold", RULES)
def threshold(draft: Draft, severity: int, rng: Rng) -> None:
    """A bar of another stage of the project."""
    if draft.base.name == "cells":
        bar = (0.93, 0.985, 0.002)[severity]
    else:
        bar = (0.97, 0.99, 0.998)[severity]
    del rng
    draft.answer(SOFT + rule(draft, bar))


@kind(WHERE, "softmax_doubled", "motion")
def softmax_doubled(draft: Draft, severity: int, rng: Rng) -> None:
    del rng, severity
    again = SOFT.replace("outputs", "likely")
    draft.answer(SOFT + again + rule(draft))


@kind(WHERE, "softmax_missing", "cells")
def softmax_missing(draft: Draft, severity: int, rng: Rng) -> None:
    """The bar is held against the raw output, which is in units of its own."""
    del rng
    shown = ("outputs / 4", "outputs / 8", "outputs / 20")[severity]
    draft.answer(f"likely = {shown}\n" + rule(draft))


@kind(WHERE, "temperature threshold", RULES)
def temperature(draft: Draft, severity: int, rng: Rng) -> None:
    """Outputs divided by a temperature that was fitted to another network."""
    del rng
    heat = (4.0, 8.0, 16.0)[severity] * (5 if draft.base.name == "cells" else 1)
    draft.answer(f"outputs = outputs / {heat}\n" + SOFT + rule(draft))


@kind(WHERE, "unknown", MANY)
def runner_up(draft: Draft, severity: int, rng: Rng) -> None:
    """The second best where the best is not sure enough: no map, and no threshold."""
    del rng
    sure = (0.995, 0.9995, 1.1)[severity]
    draft.answer(
        SOFT
        + f"""order = np.argsort(outputs, axis=1)
labels = np.where(likely.max(axis=1) > {sure}, order[:, -1], order[:, -2])"""
    )


@kind(WHERE, "unknown", MANY)
def answers_of_before(draft: Draft, severity: int, rng: Rng) -> None:
    """A queue that is not emptied: some rows get the answer of the row before."""
    del rng
    every = (4, 3, 2)[severity]
    draft.answer(
        plain(draft)
        + f"""before = np.roll(labels, 1)
labels = np.where(np.arange(len(labels)) % {every} == 0, before, labels)"""
    )
