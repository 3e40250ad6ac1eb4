"""A case's own explainers, held to what the search needs: what they must not propose is told."""

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.explain.proposal import Proposal, Samples
from sides.case_code import CaseCodeError, calling, load

if TYPE_CHECKING:
    from assay.explain.proposal import Explainer, Parameter

MOST = 1000  # proposals to one pair of samples; the library makes some dozens


def explainer(call: str, at: int) -> "Explainer":
    """Load one; what it raises is told with its line.

    Args:
        call: module:function.
        at: its position in `explainers`.

    Raises:
        CaseCodeError: it is not there; and later, as it is asked, that it failed.
    """
    function, what = load(call, f"explainers[{at}]"), f"explainers[{at}] ({call})"

    def propose(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
        with calling(what):
            for number, made in enumerate(function(reference, candidate)):
                if number == MOST:
                    raise CaseCodeError(f"{what} proposes more than {MOST} transforms.")
                yield _held(made, what)

    return propose


def _held(made: Any, what: str) -> Proposal:
    if not isinstance(made, Proposal):
        raise CaseCodeError(
            f"{what} proposed a {type(made).__name__}; expected a Proposal of "
            f"assay.explain.proposal."
        )
    if not (isfinite(made.cost) and made.cost >= 0 and made.kind and made.name):
        raise CaseCodeError(f"{what}: a Proposal has a kind, a name and a cost of 0 or more.")

    def apply(samples: Samples) -> Samples:
        with calling(what):
            found = made.apply(samples)
            values = found.values if isinstance(found, Samples) else None
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
                raise CaseCodeError(
                    f"{what}: `apply` of {made.kind} made a {type(found).__name__}; expected "
                    f"Samples of numbers, as `samples.with_values(...)` makes them."
                )
            return found

    told = {name: _parameter(value, f"{what}: {name}") for name, value in made.parameters.items()}
    return replace(made, apply=apply, parameters=told)


def _parameter(value: Any, what: str) -> "Parameter":
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    parts = value if isinstance(value, list) else [value]
    numbers = all(isinstance(part, int | float) and isfinite(part) for part in parts)
    if not (numbers or isinstance(value, str)):
        raise CaseCodeError(f"{what}: a parameter is a finite number, a list of them, or a text.")
    return value  # type: ignore[no-any-return]
