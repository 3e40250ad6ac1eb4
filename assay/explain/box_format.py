"""Boxes written in another way: by corners, by corner and size, by middle and size."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples
from assay.explain.score import aligned

NUMBERS = 4
# How each way is made of (x1, y1, x2, y2).
WAYS: dict[str, Array] = {
    "xyxy (corners)": np.eye(4),
    "xywh (corner and size)": np.array(
        [[1, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 1, 0], [0, -1, 0, 1]], dtype=np.float64
    ),
    "cxcywh (middle and size)": np.array(
        [[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [-1, 0, 1, 0], [0, -1, 0, 1]], dtype=np.float64
    ),
}
EXCHANGED = np.eye(4)[[1, 0, 3, 2]]  # y before x
NEAR = 1e-3  # of the variation may stay unexplained, up to a slope and an offset of all


def box_format(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose each change of the way in which (rows, 4k) or (rows, k, 4) numbers tell boxes."""
    if not aligned(reference, candidate) or reference.values.shape[-1] % NUMBERS:
        return
    shape = reference.values.shape
    if (len(shape) == 3 and shape[-1] != NUMBERS) or len(shape) not in {2, 3}:  # noqa: PLR2004
        return
    for (had, of_had), (got, of_got) in product(WAYS.items(), repeat=2):
        for exchanged in (False, True):
            if had == got and not (exchanged and had == next(iter(WAYS))):
                continue
            matrix = of_got @ np.linalg.inv(of_had)
            convert = _converted(EXCHANGED @ matrix if exchanged else matrix)
            if not _fits(convert(reference.values), candidate.values):
                continue
            texts = [] if had == got else [f"boxes as {got} instead of {had}"]
            texts += ["x and y of boxes exchanged"] * exchanged
            yield Proposal(
                kind="box_format",
                name=", ".join(texts),
                apply=_changed(convert),
                cost=1.02 if exchanged else 1.0,
                parameters={"from": had, "to": got, "exchanged": int(exchanged)},
            )


def _changed(convert: Callable[[Array], Array]) -> Callable[[Samples], Samples]:
    return lambda samples: samples.with_values(convert(samples.values))


def _converted(matrix: Array) -> Callable[[Array], Array]:
    return lambda values: (values.reshape(-1, NUMBERS) @ matrix.T).reshape(values.shape)


def _fits(made: Array, wanted: Array) -> bool:
    """Say whether a slope and an offset lead from one to the other."""
    left, right = made.ravel() - made.mean(), wanted.ravel() - wanted.mean()
    energy = float((left**2).sum() * (right**2).sum())
    return energy > 0 and 1 - float((left * right).sum()) ** 2 / energy <= NEAR
