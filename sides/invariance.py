"""Asks a model the same rows in other arrangements: an answer must not depend on its neighbours.

Batch norm or dropout left on, padding by the batch, a graph that was exported for another batch:
each is silent on a single arrangement.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ROWS = 32
Ask = Callable[["NDArray[Any]"], "NDArray[Any]"]


class _Answered(NamedTuple):
    outputs: NDArray[Any]
    labels: NDArray[Any]


def ask_again(ask: Ask, label: Ask, batch: NDArray[Any], served: int) -> Dict[str, Any]:
    """Ask rows in one batch, and then otherwise.

    Args:
        ask: the model: a batch to raw outputs.
        label: its rule: raw outputs to labels.
        batch: at most `MOST_ROWS` rows.
        served: how many rows a batch has elsewhere: they are asked at the end of such a one, too.

    Returns:
        `stages.reports.predict.Invariance` without what stays in training mode.
    """
    found: Dict[str, Any] = {"rows": len(batch), "spread": None, "arrangements": []}
    if len(batch) < 2:  # noqa: PLR2004
        return {**found, "why_not": "There are fewer than two rows to arrange."}
    try:
        first = _answered(ask, label, batch, [np.arange(len(batch))])
    except CaseCodeError as error:
        return {**found, "why_not": _first_line(error)}
    found["spread"] = _spread(first.outputs)
    found["arrangements"] = [
        _compared(name, partial(_answered, ask, label, batch, pieces), first)
        for name, pieces in _arrangements(first.labels)
    ]
    copies = served // len(batch)
    if copies > 1:
        last = partial(_last, ask, label, batch, copies)
        found["arrangements"].append(_compared("repeated", last, first))
    return {**found, "why_not": None}


def _arrangements(labels: NDArray[Any]) -> Iterator[Tuple[str, List[NDArray[Any]]]]:
    """Yield how the rows are dealt to batches."""
    rows = np.arange(len(labels))
    yield "twice", [rows]
    yield "alone", [rows[at : at + 1] for at in rows]
    yield "halves", [rows[::2], rows[1::2]]
    classes = labels
    if labels.dtype.kind == "f":  # numbers: those above the median, and the others
        classes = labels > np.median(labels)
    by_class = [np.flatnonzero(classes == one) for one in np.unique(classes)]
    if len(by_class) > 1:
        yield "sorted", by_class


def _answered(ask: Ask, label: Ask, batch: NDArray[Any], pieces: List[NDArray[Any]]) -> _Answered:
    made = [np.asarray(ask(np.ascontiguousarray(batch[piece]))) for piece in pieces]
    outputs = np.empty((len(batch), made[0].shape[1]), np.float64)
    for piece, part in zip(pieces, made):  # noqa: B905  Python 3.9 knows no strict
        if part.shape[1] != outputs.shape[1]:
            raise CaseCodeError("The number of outputs a row changes with the batch.")
        outputs[piece] = part
    raw = outputs.astype(made[0].dtype)
    return _Answered(outputs, np.asarray(label(raw)))


def _last(ask: Ask, label: Ask, batch: NDArray[Any], copies: int) -> _Answered:
    """Ask the rows behind copies of themselves: what a fixed size of batch leaves uncomputed."""
    made = np.asarray(ask(np.concatenate([batch] * copies)))[-len(batch) :]
    return _Answered(made.astype(np.float64), np.asarray(label(made)))


def _compared(name: str, again: Callable[[], _Answered], first: _Answered) -> Dict[str, Any]:
    try:
        other = again()
    except CaseCodeError as error:
        return {"name": name, "largest": None, "changed": None, "error": _first_line(error)}
    changed: Optional[float] = None
    if first.labels.dtype.kind != "f":
        changed = float(np.mean(first.labels != other.labels))
    finite = np.isfinite(first.outputs)
    if not np.array_equal(finite, np.isfinite(other.outputs)):
        text = "Some outputs are finite in one arrangement alone."
        return {"name": name, "largest": None, "changed": changed, "error": text}
    apart = np.abs(first.outputs[finite] - other.outputs[finite])
    largest = float(apart.max()) if apart.size else 0.0
    return {"name": name, "largest": largest, "changed": changed, "error": None}


def _spread(outputs: NDArray[Any]) -> Optional[float]:
    """Return how far rows differ by themselves; None where nothing is finite or all are alike."""
    finite = outputs[np.isfinite(outputs).all(axis=1)]
    if not len(finite):
        return None
    spread = float(np.sqrt(np.mean(finite.var(axis=0))))
    return spread or None


def _first_line(error: CaseCodeError) -> str:
    """Return what happened; the lines of code below it stand in the run's log elsewhere."""
    text = str(error).splitlines()[0]
    return text if not privacy.is_private() else text.partition(":")[0] + " failed."
