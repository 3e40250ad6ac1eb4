"""All explainers, and the question that they answer together: what was done to these arrays?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.explain.affine import affine
from assay.explain.bands import bands
from assay.explain.box_format import box_format
from assay.explain.channel_affine import channel_affine
from assay.explain.channel_order import channel_order
from assay.explain.channels import channels
from assay.explain.codes import codes
from assay.explain.colour import colour
from assay.explain.curve import gamma, monotone_curve
from assay.explain.frame import frame
from assay.explain.functions import functions
from assay.explain.kernel import kernel
from assay.explain.lag import lag
from assay.explain.layout import layout
from assay.explain.per_sample import per_sample
from assay.explain.proposal import Explainer, Explanation
from assay.explain.quantise import clip, quantise, wrap
from assay.explain.resampled import resampled
from assay.explain.search import search
from assay.explain.translation import translation
from assay.explain.turns import turns
from assay.explain.units import units

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
FILTERS: tuple[Explainer, ...] = (functions, kernel, colour, per_sample, resampled, box_format)
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


def explain(
    reference: NDArray[Any],
    candidate: NDArray[Any],
    *,
    max_depth: int = 3,
    accept: float = 0.99,
    names: Sequence[str] = (),
) -> Explanation | None:
    """Name the transform that turns the reference into the candidate, from the arrays alone.

    Args:
        reference: (rows, ...) numbers, any layout; rows with values that are not finite are left
            out.
        candidate: (rows, ...) the same rows, of any shape.
        max_depth: how many transforms may be composed.
        accept: the least share of the residual to be explained; both of the untransformed
            difference and of the candidate's own variation.
        names: of the columns, for people; used where a row has as many.

    Returns:
        The simplest explanation; kind "identity" where nothing differs; None where nothing fits.

    Raises:
        ValueError: the numbers of rows differ, or there are none.

    >>> pixels = np.random.default_rng(0).random((4, 8, 8))
    >>> explain(pixels, 255 * pixels[:, :, ::-1]).name
    'flipped left to right, then multiplied by 255'
    """
    if reference.ndim == 0 or candidate.ndim == 0 or not 0 < len(reference) == len(candidate):
        raise ValueError(f"not the same rows: {reference.shape} and {candidate.shape}")
    if np.array_equal(reference, candidate, equal_nan=True):
        return Explanation(
            name="no difference", kind="identity", parameters={}, residual_explained=1.0, parts=()
        )
    if reference.ndim == 1 or candidate.ndim == 1:
        reference = reference.reshape(len(reference), -1) if reference.ndim == 1 else reference
        candidate = candidate.reshape(len(candidate), -1) if candidate.ndim == 1 else candidate
    return search(
        reference,
        candidate,
        phases=(MOVES, FILTERS, MAPS),
        max_depth=max_depth,
        accept=accept,
        names=names,
    )
