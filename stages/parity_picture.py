"""Draws the samples on which two sides differ most: reference, candidate, difference."""

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from stages.step_pairs import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# A phone shows the picture some 330 px wide: 720 px shrink to that, and 8 points (20 px) to 9 px.
DPI = 180
PANEL_INCHES = 1.25
WIDTH_INCHES = 4.0
POINTS = 8
LINE_INCHES = 1.35 * POINTS / 72  # a line of text
LONGEST = 50  # characters across the picture
COLOURS = (3, 4)  # channels of a picture that can be shown in colour
FEWEST_MOMENTS = 4  # for each channel
MAX_CHANNELS_FIRST = 16  # the shortest axis of up to so many holds channels
PLANE, VOLUME = 2, 3  # numbers of axes


def say(text: str) -> bytes:
    """Return a small picture that holds one sentence: nothing is drawn, and this is why."""
    lines = textwrap.wrap(text, LONGEST)
    figure = Figure(figsize=(WIDTH_INCHES, (len(lines) + 2) * LINE_INCHES), dpi=DPI)
    figure.text(0.5, 0.5, "\n".join(lines), ha="center", va="center", fontsize=POINTS)
    return _png(figure)


def draw(pair: Pair, rows: Sequence[int], ids: Sequence[str]) -> bytes:
    """Return small multiples, one row a sample.

    Args:
        pair: one step's outputs on both sides.
        rows: which samples, the worst first.
        ids: of all paired samples.
    """
    height = len(rows) * (PANEL_INCHES + 4 * LINE_INCHES) + 1.5 * LINE_INCHES
    figure = Figure(figsize=(WIDTH_INCHES, height), dpi=DPI)
    top = height - 1.2 * LINE_INCHES
    _write(figure, 0.05, top, _short(f"Step {pair.step}: what differs most"), weight="bold")
    for at, row in enumerate(rows):
        top = height - 1.5 * LINE_INCHES - at * (PANEL_INCHES + 4 * LINE_INCHES)
        _write(figure, 0.05, top - 1.2 * LINE_INCHES, _short(str(ids[row])))
        places = [_place(figure, column, top - 3.6 * LINE_INCHES) for column in range(3)]
        reference = _showable(np.asarray(pair.reference[row]))
        candidate = _showable(np.asarray(pair.candidate[row]))
        _panel(places[0], reference, "reference")
        _panel(places[1], candidate, "candidate")
        if reference.shape == candidate.shape:
            _panel(places[2], candidate - reference, "difference", signed=True)
        else:
            places[2].set_axis_off()
            text = f"shapes differ\n{list(reference.shape)}\n{list(candidate.shape)}"
            places[2].text(0.5, 0.5, text, ha="center", va="center", fontsize=POINTS)
    return _png(figure)


def _place(figure: Figure, column: int, top: float) -> "Axes":
    """Return axes of one panel; `top` in inches from below."""
    width, height = figure.get_size_inches()
    left = 0.05 + column * (WIDTH_INCHES - 0.1 - PANEL_INCHES) / 2
    box = (left / width, (top - PANEL_INCHES) / height)
    return figure.add_axes((*box, PANEL_INCHES / width, PANEL_INCHES / height))


def _write(figure: Figure, left: float, below: float, text: str, weight: str = "normal") -> None:
    width, height = figure.get_size_inches()
    figure.text(left / width, below / height, text, fontsize=POINTS, fontweight=weight)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


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
    axes.set_title(f"{title}\n{low:.3g} to {high:.3g}", fontsize=POINTS, pad=3)
    if values.ndim == 1:
        _lines(axes, values)
        return
    if _is_signal(values):
        _lines(axes, values if values.shape[0] > values.shape[1] else values.T)
        return
    axes.set_axis_off()
    if signed:
        flat = values if values.ndim == PLANE else _largest(values)
        reach = float(np.abs(flat).max()) or 1.0
        axes.imshow(flat, cmap="RdBu_r", vmin=-reach, vmax=reach, interpolation="nearest")
    elif values.ndim == PLANE:
        axes.imshow(values, cmap="gray", interpolation="nearest")
    else:
        axes.imshow((values - low) / ((high - low) or 1.0), interpolation="nearest")


def _lines(axes: "Axes", values: "NDArray[np.float64]") -> None:
    axes.plot(values, linewidth=1)
    axes.tick_params(labelbottom=False, labelleft=False, length=2)  # the title has the range


def _is_signal(values: "NDArray[np.float64]") -> bool:
    """Tell moments by channels from a picture: a few channels, many times as many moments."""
    fewer, more = sorted(values.shape[:2])
    return values.ndim == PLANE and fewer <= MAX_CHANNELS_FIRST and more >= FEWEST_MOMENTS * fewer


def _largest(difference: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return each place's largest difference with its sign: a mean of exchanged colours is 0."""
    most = np.abs(difference).argmax(axis=-1)[..., None]
    return np.take_along_axis(difference, most, axis=-1)[..., 0]


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    # Software: matplotlib's version would stand in the file, and change its bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
