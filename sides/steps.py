"""A side's preprocessing: named functions or programs, applied to one sample after another."""

from __future__ import annotations

from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
)

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError, calling, load
from sides.program import Program, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sides.rows import Row

NUMERIC = "biuf"  # bool, integers, floats


class Step(NamedTuple):
    """One step of one side, ready to be applied."""

    what: str  # reference.steps[1] 'scale' (steps:scale)
    function: Optional[Callable[..., Any]]
    args: Dict[str, Any]
    program: Optional[Program] = None

    def close(self) -> None:
        """End its program."""
        if self.program is not None:
            self.program.close()


class Slot(NamedTuple):
    """One place in the order of steps, and who has what there."""

    key: str  # 01_scale
    name: str
    reference: Optional[int]  # position in the side's own list; None: this side has no such step
    candidate: Optional[int]


def said(step: Dict[str, Any]) -> str:
    """Return how a step is stated: module:function, a command line, or "" where it was recorded."""
    return step.get("call") or " ".join(step.get("command") or [])


def load_step(side: str, position: int, step: Dict[str, Any]) -> Step:
    """Find a step's function, or start its program.

    Raises:
        CaseCodeError: it is not there.
    """
    where = f"{side}.steps[{position}]"
    what = f"{where} '{step['name']}' ({said(step)})"
    args = dict(step.get("args") or {})
    if step.get("command"):
        return Step(what, None, {}, Program(words_of(step["command"], args), what))
    return Step(what, load(step["call"], where), args)


@contextmanager
def loaded(side: str, steps: Sequence[Dict[str, Any]]) -> Iterator[List[Step]]:
    """Find all functions and start all programs of a side's steps; the programs end with it."""
    made: List[Step] = []
    try:
        for position, step in enumerate(steps):
            made.append(load_step(side, position, step))
        yield made
        for one in made:
            if one.program is not None:
                one.program.finish()
    finally:
        for one in made:
            one.close()


def step_key(position: int, name: str) -> str:
    """Return the name of a step's files: the position keeps them in order."""
    return f"{position:02d}_{name}"


def apply(step: Step, value: Any, number: int, sample: str) -> NDArray[Any]:
    """Apply one step to one sample.

    Raises:
        CaseCodeError: the step failed, or returned no numeric array.
    """
    if step.program is not None:
        return step.program.ask(value, f" on sample {number}{privacy.named(sample)}")
    assert step.function is not None  # noqa: S101  a step is one of the two
    with calling(step.what, number, sample):
        made = step.function(value, **step.args)
    kind = made.dtype.kind if isinstance(made, np.ndarray) else None
    if kind is None or kind not in NUMERIC:
        got = type(made).__name__ if kind is None else f"an array of {made.dtype}"
        place = f"sample {number}{privacy.named(sample)}"
        text = f"{step.what} returned {got} for {place}; expected a numeric array."
        raise CaseCodeError(text)
    return made  # type: ignore[no-any-return]


def apply_copy(step: Step, value: Any, number: int, sample: str) -> NDArray[Any]:
    """Apply a step to a copy, so that one that works in place changes nobody else's input."""
    copy = np.array(value) if isinstance(value, np.ndarray) else value
    return apply(step, copy, number, sample)


def apply_all(steps: Sequence[Step], value: Any, row: Row, number: int) -> Iterator[NDArray[Any]]:
    """Yield each step's output on one sample; every step is applied exactly once.

    What is yielded is a copy: a step that works in place cannot change what was recorded before it.
    """
    for step in steps:
        value = apply(step, value, number, row.id)
        yield np.array(value)


def align(
    reference: Sequence[Dict[str, Any]], candidate: Sequence[Dict[str, Any]]
) -> Optional[List[Slot]]:
    """Pair two lists of steps by name, in order; two lists of one step are a pair under any name.

    A step that only one side has gets a slot of its own.

    Returns:
        None when the lists cannot be paired: no name in common, or the same names in another order.
    """
    left = [step["name"] for step in reference]
    right = [step["name"] for step in candidate]
    common = [name for name in left if name in right]
    if left == right or len(left) == len(right) == 1:
        return [Slot(step_key(i, name), name, i, i) for i, name in enumerate(left)]
    if not common or common != [name for name in right if name in left]:
        return None
    slots: List[Slot] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and left[i] not in right:
            slots.append(Slot(step_key(len(slots), left[i]), left[i], i, None))
            i += 1
        elif j < len(right) and right[j] not in left:
            slots.append(Slot(step_key(len(slots), right[j]), right[j], None, j))
            j += 1
        else:
            slots.append(Slot(step_key(len(slots), left[i]), left[i], i, j))
            i, j = i + 1, j + 1
    return slots
