"""Two pieces of the same pictures: cut out elsewhere, or padded instead of cut, shape by shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.explain.by_shape import groups_of
from assay.explain.frame import frame
from assay.explain.proposal import Explanation, Parameter, Samples, guess_channel_axis
from assay.explain.score import own_variation, squared_error

Rows: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]]
MAX_SHAPES = 8
PICTURE_NDIMS = (2, 3)  # of one row
EXACT = 1e-6  # of the variation: a piece of a picture is the picture
WHOLE, CROP, PAD = "whole", "crop", "pad"


@dataclass(frozen=True, slots=True)
class Piece:
    """What of a picture a side's step gave."""

    how: str  # WHOLE, CROP or PAD
    name: str
    size: tuple[int, int]
    parameters: dict[str, Parameter]


def reframed(reference: Rows, candidate: Rows, source: Rows) -> Explanation | None:
    """Name the pieces that both sides made of the source, where both are pieces of it.

    Pictures that lie and pictures that stand are cut at other places: each shape is looked at by
    itself, and all must differ in the same way, or not at all.
    """
    if not len(reference) == len(candidate) == len(source) > 0:
        return None
    groups = groups_of(source, reference, candidate)
    if len(groups) > MAX_SHAPES:
        return None
    found: list[tuple[str, Piece, Piece]] = []
    for rows in groups:
        given, had, got = (
            np.stack([side[row] for row in rows]) for side in (source, reference, candidate)
        )
        if given.shape == had.shape == got.shape or given.ndim - 1 not in PICTURE_NDIMS:
            return None
        pieces = _piece(given, had), _piece(given, got)
        if pieces[0] is None or pieces[1] is None:
            return None
        kind = _kind(pieces[0], pieces[1])
        found += [(kind, pieces[0], pieces[1])] if kind else []
    if len({kind for kind, *_ in found}) != 1:
        return None
    kind, was, now = found[0]
    name = f"{now.name} instead of {was.name}"
    return Explanation(
        name=name if len(found) == 1 else f"{name} (and so for {len(found)} shapes of pictures)",
        kind=kind,
        parameters=now.parameters | {f"reference.{k}": v for k, v in was.parameters.items()},
        residual_explained=1.0,
        parts=(kind,),
    )


def _kind(had: Piece, got: Piece) -> str:
    """Call the difference of two pieces; "" where there is none."""
    if had == got:
        return ""
    if had.how == got.how == CROP:
        return "crop_offset" if had.size == got.size else CROP
    if got.how == PAD:
        return "letterbox" if had.how == CROP else PAD
    return CROP if CROP in {had.how, got.how} else PAD


def _piece(given: NDArray[Any], made: NDArray[Any]) -> Piece | None:
    axis = guess_channel_axis(given.shape)
    whole, piece = (
        Samples(values=side.astype(np.float64), channel_axis=axis) for side in (given, made)
    )
    if whole.values.ndim != piece.values.ndim or whole.planes.shape[1] != piece.planes.shape[1]:
        return None
    if not (np.isfinite(whole.values).all() and np.isfinite(piece.values).all()):
        return None
    size = (piece.planes.shape[2], piece.planes.shape[3])
    if given.shape == made.shape:
        same = np.array_equal(given, made)
        return Piece(WHOLE, "left whole", size, {}) if same else None
    for proposal in frame(whole, piece):
        error = squared_error(proposal.apply(whole).values, piece.values)
        if error <= EXACT * own_variation(piece):
            return Piece(proposal.kind, proposal.name, size, proposal.parameters)
    return None
