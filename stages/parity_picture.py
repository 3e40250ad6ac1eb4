"""Draws the samples on which two sides differ most: reference, candidate, difference."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from stages.step_pairs import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

DPI = 110
PANEL_INCHES = 2.1
COLOURS = (3, 4)  # channels of a picture that can be shown in colour
MAX_CHANNELS_FIRST = 16  # a first axis of up to so many, shorter than the others, holds channels
PLANE, VOLUME = 2, 3  # numbers of axes


def say(text: str) -> bytes:
    """Return a small picture that holds one sentence: nothing is drawn, and this is why."""
    figure = Figure(figsize=(6, 1.2), dpi=DPI)
    figure.text(0.5, 0.5, text, ha="center", va="center", wrap=True, fontsize=10)
    return _png(figure)


def draw(pair: Pair, rows: Sequence[int], ids: Sequence[str]) -> bytes:
    """Return small multiples, one row a sample.

    Args:
        pair: one step's outputs on both sides.
        rows: which samples, the worst first.
        ids: of all paired samples.
    """
    size = (3 * PANEL_INCHES + 0.8, len(rows) * (PANEL_INCHES + 0.35) + 0.5)
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    figure.suptitle(f"Step {pair.step}: the samples that differ most", fontsize=13)
    axes = figure.subplots(len(rows), 3, squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        reference = _showable(np.asarray(pair.reference[row]))
        candidate = _showable(np.asarray(pair.candidate[row]))
        _panel(line[0], reference, f"{ids[row]}: reference")
        _panel(line[1], candidate, "candidate")
        if reference.shape == candidate.shape:
            _panel(line[2], candidate - reference, "candidate - reference", signed=True)
        else:
            line[2].set_axis_off()
            text = f"shapes differ\n{list(reference.shape)}\n{list(candidate.shape)}"
            line[2].text(0.5, 0.5, text, ha="center", va="center", fontsize=10)
    return _png(figure)


def _showable(sample: "NDArray[Any]") -> "NDArray[np.float64]":
    """Return a line of values, a plane, or a plane with 3 colours; other shapes become a line."""
    values: NDArray[np.float64] = np.nan_to_num(np.asarray(sample, np.float64), posinf=0, neginf=0)
    values = np.squeeze(values)
    if values.ndim == VOLUME and values.shape[0] <= min(MAX_CHANNELS_FIRST, *values.shape[1:]):
        values = np.moveaxis(values, 0, -1)
    if values.ndim == VOLUME:
        return values[..., :3] if values.shape[-1] in COLOURS else values.mean(axis=-1)
    return values if values.ndim == PLANE else values.reshape(-1)


def _panel(
    axes: "Axes", values: "NDArray[np.float64]", title: str, *, signed: bool = False
) -> None:
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    axes.set_title(f"{title}\n{low:.4g} to {high:.4g}", fontsize=10)
    if values.ndim == 1:
        axes.plot(values, linewidth=1)
        axes.tick_params(labelsize=6)
        return
    axes.set_axis_off()
    if signed:
        flat = values if values.ndim == PLANE else values.mean(axis=-1)
        reach = float(np.abs(flat).max()) or 1.0
        axes.imshow(flat, cmap="RdBu_r", vmin=-reach, vmax=reach, interpolation="nearest")
    elif values.ndim == PLANE:
        axes.imshow(values, cmap="gray", interpolation="nearest")
    else:
        axes.imshow((values - low) / ((high - low) or 1.0), interpolation="nearest")


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    # Software: matplotlib's version would stand in the file, and change its bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
