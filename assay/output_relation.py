"""Two models' raw outputs for the same tensors: how one follows from the other.

A softmax that stands twice or not at all, a temperature (Guo et al. 2017), columns in another
order, boxes written in another way: each is a closed form without or with one free number, so that
it either fits all rows or none, and needs no test.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SAME = 1e-4  # of the outputs' own spread: other kernels, another order of sums
FITS = 0.01  # a form is accepted where so little stays, and a tenth of what was there
TENTH = 0.1
ONE = 0.01  # a slope so near to 1 is none
CLOSE = 0.1  # of the spread: a number format, not another function
LEAST_ROWS = 4
MOST_COLUMNS = 512
TINY = 1e-12
BOXES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """How the candidate's outputs follow from the reference's."""

    name: str  # equal, close, softmax_doubled, softmax_missing, temperature, row_shift, permuted,
    # box_format, scaled, unlike, unknown
    says: str
    error: float | None  # what stays, over the outputs' spread
    before: float | None  # the same without the relation
    parameters: dict[str, float | str | list[int]] = field(default_factory=dict)


def relation(reference: ArrayLike, candidate: ArrayLike, *, boxes: bool = False) -> Relation:
    """Find the simplest form that leads from the reference's raw outputs to the candidate's.

    Args:
        reference: (rows, outputs).
        candidate: of the same rows and tensors.
        boxes: whether outputs may be boxes, four numbers each.
    """
    ours = np.asarray(reference, np.float64)
    theirs = np.asarray(candidate, np.float64)
    if ours.shape != theirs.shape:
        text = f"{theirs.shape[1]} outputs a row instead of {ours.shape[1]}"
        return Relation(name="unlike", says=text, error=None, before=None)
    finite = np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
    ours, theirs = ours[finite], theirs[finite]
    if len(ours) < LEAST_ROWS:
        text = f"only {len(ours)} rows are finite on both sides"
        return Relation(name="unknown", says=text, error=None, before=None)
    before = apart(ours, theirs)
    if before <= SAME:
        return Relation(name="equal", says="equal", error=before, before=before)
    bound = min(FITS, TENTH * before)
    for found in _forms(ours, theirs, boxes):
        name, says, made, wanted, parameters = found
        error = apart(made, wanted)
        if error <= bound:
            return Relation(name=name, says=says, error=error, before=before, parameters=parameters)
    name, says = ("close", "equal but for small errors") if before <= CLOSE else ("unknown", "")
    return Relation(name=name, says=says, error=before, before=before)


def apart(reference: ArrayLike, candidate: ArrayLike) -> float:
    """Return the root mean square difference over the reference's spread (1 where it has none).

    >>> round(apart([[0.0], [2.0]], [[0.0], [2.2]]), 4)
    0.1414
    """
    ours, theirs = np.asarray(reference, np.float64), np.asarray(candidate, np.float64)
    spread = float(np.sqrt(np.mean(ours.var(axis=0))))
    if spread <= TINY * (1 + float(np.abs(ours).max(initial=0.0))):
        spread = float(np.abs(ours).max(initial=0.0)) or 1.0
    return float(np.sqrt(np.mean((theirs - ours) ** 2))) / spread


_Form = tuple[str, str, Floats, Floats, dict[str, float | str | list[int]]]


def _forms(ours: Floats, theirs: Floats, boxes: bool) -> Iterator[_Form]:
    """Yield name, words, what should be equal to what, and parameters; the simpler first."""
    several = ours.shape[1] > 1
    squash = softmax if several else sigmoid
    word = "softmax" if several else "logistic function"
    if several and not boxes:
        yield from _shifted(ours, theirs)
    if not boxes:
        if is_probability(theirs) or not several:
            twice = "a second " if is_probability(ours) else "a further "
            says = f"the candidate's outputs went through {twice}{word}"
            yield "softmax_doubled", says, squash(ours), theirs, {}
        if is_probability(ours):
            says = f"the candidate's outputs lack the {word}"
            yield "softmax_missing", says, ours, squash(theirs), {}
    if boxes and ours.shape[1] % BOXES == 0:
        yield from _boxes(ours, theirs)
    if several and ours.shape[1] <= MOST_COLUMNS:
        yield from _permuted(ours, theirs)
    if not boxes and several:
        yield from _tempered(ours, theirs)
    yield from _scaled(ours, theirs)


def softmax(outputs: Floats) -> Floats:
    """Return each row's softmax."""
    raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    made: Floats = raised / raised.sum(axis=1, keepdims=True)
    return made


def sigmoid(outputs: Floats) -> Floats:
    """Return the logistic function of each number."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * outputs)))


def is_probability(outputs: Floats) -> bool:
    """Tell whether rows are shares that sum to 1; of a single column, between 0 and 1."""
    if outputs.min() < -ONE or outputs.max() > 1 + ONE:
        return False
    return outputs.shape[1] == 1 or bool(np.abs(outputs.sum(axis=1) - 1).max() <= ONE)


def _centred(outputs: Floats) -> Floats:
    made: Floats = outputs - outputs.mean(axis=1, keepdims=True)
    return made


def _slope(ours: Floats, theirs: Floats) -> float:
    energy = float((ours**2).sum())
    return float((ours * theirs).sum()) / energy if energy else 0.0


def _shifted(ours: Floats, theirs: Floats) -> Iterator[_Form]:
    says = "a number added to each row (log-softmax, or none): no softmax sees it"
    if not (is_probability(ours) or is_probability(theirs)):
        yield "row_shift", says, _centred(ours), _centred(theirs), {}


def _tempered(ours: Floats, theirs: Floats) -> Iterator[_Form]:
    logits = _logits(ours), _logits(theirs)
    slope = _slope(*logits)
    if slope > 0 and abs(slope - 1) > ONE:
        says = f"logits times {slope:.3g}: a temperature of {1 / slope:.3g}"
        yield "temperature", says, slope * logits[0], logits[1], {"temperature": 1 / slope}


def _logits(outputs: Floats) -> Floats:
    if is_probability(outputs):
        return _centred(np.log(np.maximum(outputs, TINY)))
    return _centred(outputs)


def _permuted(ours: Floats, theirs: Floats) -> Iterator[_Form]:
    """Match columns by their distance (Kuhn 1955, the Hungarian method)."""
    from scipy.optimize import linear_sum_assignment

    squares = (ours**2).sum(axis=0)[:, None] + (theirs**2).sum(axis=0)[None]
    _, order = linear_sum_assignment(squares - 2 * ours.T @ theirs)
    moved = [int(at) for at in np.flatnonzero(order != np.arange(len(order)))]
    if moved:
        says = f"{len(moved)} outputs stand in another order"
        yield "permuted", says, ours, theirs[:, order], {"order": [int(at) for at in order]}


def _boxes(ours: Floats, theirs: Floats) -> Iterator[_Form]:
    from assay.explain.box_format import WAYS

    for had, of_had in WAYS.items():
        for got, of_got in WAYS.items():
            if had == got or ("yx" in had and "yx" in got):
                continue
            matrix = of_got @ np.linalg.inv(of_had)
            made = (ours.reshape(-1, BOXES) @ matrix.T).reshape(ours.shape)
            says = f"boxes as {got} instead of {had}"
            yield "box_format", says, made, theirs, {"from": had, "to": got}


def _scaled(ours: Floats, theirs: Floats) -> Iterator[_Form]:
    slope, offset = _line(ours, theirs)
    if np.ptp(theirs) == 0:  # a constant is no scale, and cannot be undone
        return
    if abs(slope - 1) > ONE or abs(offset) > ONE * float(ours.std()):
        says = f"times {slope:.4g}, plus {offset:.4g}"
        made = slope * ours + offset
        yield (
            "scaled",
            says,
            made / (abs(slope) or 1),
            theirs / (abs(slope) or 1),
            {
                "slope": slope,
                "offset": offset,
            },
        )


def _line(ours: Floats, theirs: Floats) -> tuple[float, float]:
    slope = _slope(ours - ours.mean(), theirs - theirs.mean())
    return slope, float(theirs.mean() - slope * ours.mean())
