"""What the reference does and the candidate leaves out, where that cannot be taken back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from assay.explain.proposal import Explanation


def undone(
    reference: NDArray[Any],
    candidate: NDArray[Any],
    search_back: Callable[[NDArray[Any], NDArray[Any]], Explanation | None],
) -> Explanation | None:
    """Explain the reference by the candidate: a blur, a rounding, a mean lost only on that side.

    No transform of the reference gives back what it lost, so that this is told the other way round.
    """
    found = search_back(candidate, reference)
    if found is None or found.kind == "identity":
        return None
    return replace(
        found,
        name=f"the candidate leaves out what the reference does: {found.name}",
        parameters=found.parameters | {"undone": 1},
    )
