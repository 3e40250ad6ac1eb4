"""What is asked when no transform of all values fits: a part of them, or the way back."""

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

from assay.explain.proposal import Explanation, Parameter

Ask: TypeAlias = Callable[[NDArray[Any], NDArray[Any], int], Explanation | None]
"""Explain these arrays by at most so many transforms."""
Resort: TypeAlias = Callable[[NDArray[Any], NDArray[Any], int, Ask], Explanation | None]


def prefixed(
    kind: str, name: str, parameters: dict[str, Parameter], then: Explanation | None
) -> Explanation:
    """Put one finding before what explains the rest; `then` None or an identity: nothing more."""
    if then is None or then.kind == "identity":
        share = 1.0 if then is None else then.residual_explained
        return Explanation(
            name=name,
            kind=kind,
            parameters=parameters,
            residual_explained=share,
            parts=tuple(kind.split("+")),
        )
    return Explanation(
        name=f"{name}: {then.name}" if name.endswith("rows") else f"{name}, then {then.name}",
        kind=f"{kind}+{then.kind}",
        parameters={f"{kind}.{key}": value for key, value in parameters.items()} | then.parameters,
        residual_explained=then.residual_explained,
        parts=(*kind.split("+"), *then.parts),
    )
