"""All explainers, and the question that they answer together: what was done to these arrays?"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.affine import affine
from assay.explain.bands import bands
from assay.explain.box_format import box_format
from assay.explain.by_shape import Rows, by_shape
from assay.explain.channel_affine import channel_affine
from assay.explain.channel_order import channel_order
from assay.explain.channels import channels
from assay.explain.codes import codes
from assay.explain.colour import colour
from assay.explain.curve import gamma, monotone_curve
from assay.explain.exact import LEFT, is_exact
from assay.explain.frame import frame
from assay.explain.functions import functions
from assay.explain.geometry import letterbox, zoom
from assay.explain.jpeg import jpeg
from assay.explain.kernel import kernel
from assay.explain.lag import lag
from assay.explain.layout import layout
from assay.explain.linear_map import linear_map
from assay.explain.missing import missing_value
from assay.explain.overlap import crop_offset
from assay.explain.padding import padding
from assay.explain.per_sample import per_sample
from assay.explain.proposal import (
    TABLE_NDIM,
    Explainer,
    Explanation,
    Proposal,
    Samples,
    is_series,
)
from assay.explain.quantise import clip, quantise, wrap
from assay.explain.reframed import reframed
from assay.explain.rerender import Pictures, rerender
from assay.explain.resampled import resampled
from assay.explain.resort import Resort
from assay.explain.search import search
from assay.explain.some_rows import some_rows, turned_rows
from assay.explain.translation import translation
from assay.explain.turns import turns
from assay.explain.undone import undone
from assay.explain.units import units
from assay.explain.wrapped import wrapped

# A new explainer is one file, its test, and its line here: with the moves, or with the maps.
MOVES: tuple[Explainer, ...] = (
    layout,
    frame,
    turns,
    channel_order,
    channels,
    translation,
    lag,
)
FILTERS: tuple[Explainer, ...] = (
    functions,
    kernel,
    colour,
    per_sample,
    resampled,
    padding,
    letterbox,
    zoom,
    jpeg,
    box_format,
    wrapped,
)
MAPS: tuple[Explainer, ...] = (
    affine,
    units,
    channel_affine,
    gamma,
    monotone_curve,
    codes,
    bands,
    quantise,
    clip,
    wrap,
)

# What loses something: where the reference does it and the candidate does not.
LOSSES: tuple[Explainer, ...] = (functions, kernel, per_sample, resampled, letterbox, zoom, jpeg)
LOSSES_OF_VALUES: tuple[Explainer, ...] = (affine, channel_affine, quantise, clip)
# Asked in this order where no transform of all values fits.
RESORTS: tuple[Resort, ...] = (missing_value, turned_rows, crop_offset)
SAME = Explanation(
    name="no difference", kind="identity", parameters={}, residual_explained=1.0, parts=()
)


def explain(
    reference: Rows,
    candidate: Rows,
    *,
    max_depth: int = 3,
    accept: float = 0.99,
    names: Sequence[str] = (),
    more: Sequence[Explainer] = (),
    source: Pictures | None = None,
) -> Explanation | None:
    """Name the transform that turns the reference into the candidate, from the arrays alone.

    Args:
        reference: (rows, ...) numbers, any layout; rows with values that are not finite are left
            out. A list of arrays where the rows' shapes differ.
        candidate: (rows, ...) the same rows, of any shape, or a list of them.
        max_depth: how many transforms may be composed.
        accept: the least share of the residual to be explained; both of the untransformed
            difference and of the candidate's own variation.
        names: of the columns, for people; used where a row has as many.
        more: explainers of a case, tried with those that filter or mix values.
        source: what both steps were given, where that is known: a resize is rendered again of it.

    Returns:
        The simplest explanation; kind "identity" where nothing differs; None where nothing fits.

    Raises:
        ValueError: the numbers of rows differ, or there are none.

    >>> pixels = np.random.default_rng(0).random((4, 8, 8))
    >>> explain(pixels, 255 * pixels[:, :, ::-1]).name
    'flipped left to right, then multiplied by 255'
    """
    _check(reference, candidate)
    found = None if source is None else reframed(reference, candidate, source)
    if found is not None:
        return found

    def ask(
        left: NDArray[Any], right: NDArray[Any], kinds: frozenset[str] | None = None
    ) -> Explanation | None:
        return _of_one_shape(
            left, right, max_depth=max_depth, accept=accept, names=names, more=more, kinds=kinds
        )

    if not (isinstance(reference, np.ndarray) and isinstance(candidate, np.ndarray)):
        pairs = zip(reference, candidate, strict=True)
        if all(np.array_equal(left, right, equal_nan=True) for left, right in pairs):
            return SAME
        return by_shape(reference, candidate, ask)
    if np.array_equal(reference, candidate, equal_nan=True):
        return SAME
    found = None if source is None else rerender(reference, candidate, source, accept)
    return found or ask(reference, candidate)


def _check(reference: Rows, candidate: Rows) -> None:
    counts = [
        None if isinstance(side, np.ndarray) and side.ndim == 0 else len(side)
        for side in (reference, candidate)
    ]
    if None in counts or counts[0] != counts[1] or not counts[0]:
        raise ValueError(f"not the same rows: {counts[0]} and {counts[1]}")


def _of_one_shape(
    reference: NDArray[Any],
    candidate: NDArray[Any],
    *,
    max_depth: int,
    accept: float,
    names: Sequence[str],
    more: Sequence[Explainer],
    kinds: frozenset[str] | None = None,
) -> Explanation | None:
    """Explain arrays; by these kinds only, where they are given."""
    if np.array_equal(reference, candidate, equal_nan=True):
        return SAME
    if reference.ndim == 1 or candidate.ndim == 1:
        reference = reference.reshape(len(reference), -1) if reference.ndim == 1 else reference
        candidate = candidate.reshape(len(candidate), -1) if candidate.ndim == 1 else candidate
    if kinds is not None:
        phases = [[_only(e, kinds) for e in group] for group in (MOVES, (*FILTERS, *more), MAPS)]
        return search(
            reference, candidate, phases=phases, max_depth=len(kinds), accept=accept, names=names
        )
    found = None
    if not names and candidate.ndim == TABLE_NDIM and is_series(reference):
        left, right = reference[..., None], candidate[..., None]  # one sensor's moments
        found = _explain(left, right, max_depth=max_depth, accept=accept, names=(), more=more)
    return found or _explain(
        reference, candidate, max_depth=max_depth, accept=accept, names=names, more=more
    )


def _only(explainer: Explainer, kinds: frozenset[str]) -> Explainer:
    """Let an explainer propose these kinds and no others."""

    def propose(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
        return (found for found in explainer(reference, candidate) if found.kind in kinds)

    return propose


def _explain(
    reference: NDArray[Any],
    candidate: NDArray[Any],
    *,
    max_depth: int,
    accept: float,
    names: Sequence[str],
    more: Sequence[Explainer],
) -> Explanation | None:
    phases = (MOVES, (*FILTERS, *more), MAPS)

    def ask(left: NDArray[Any], right: NDArray[Any], depth: int) -> Explanation | None:
        if np.array_equal(left, right):
            return SAME
        found = search(left, right, phases=phases, max_depth=depth, accept=accept, names=names)
        if not is_exact(found, left, right):  # a line that nearly fits hides what fits
            strict = max(accept, 1 - LEFT)
            found = search(left, right, phases=phases, max_depth=depth, accept=strict, names=names)
        return found if is_exact(found, left, right) else None

    def back(left: NDArray[Any], right: NDArray[Any]) -> Explanation | None:
        phases = ((), LOSSES, LOSSES_OF_VALUES)
        return search(left, right, phases=phases, max_depth=2, accept=accept, names=names)

    lost = not np.array_equal(np.isnan(reference), np.isnan(candidate))
    found = missing_value(reference, candidate, max_depth, ask) if lost else None
    found = found or some_rows(reference, candidate, max_depth, ask)
    found = found or ask(reference, candidate, max_depth)
    for resort in RESORTS:
        found = found or resort(reference, candidate, max_depth, ask)
    found = found or undone(reference, candidate, back)
    found = found or linear_map(reference, candidate, max_depth, ask, accept)
    return found if is_exact(found, reference, candidate) else None
