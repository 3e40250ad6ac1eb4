"""Small multiples: one figure of each sample, simulation beside reality, each on its own scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stages.plots import legend, short
from stages.plots_ink import LINE, MUTED, REAL, SIM, SMALL, WIDTH, Chart, inked
from stages.reports.inputs import Histogram, Statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 2
CELL = 104  # px high
GAP = 20  # px between columns
MOST_WORDS = 4


def small_multiples(statistics: Sequence[Statistic]) -> str:
    """Draw the distributions of a few figures, two a row."""
    rows = -(-len(statistics) // COLUMNS)
    with inked():
        chart = Chart(28 + rows * CELL)
        width = (WIDTH - GAP - 16) / COLUMNS
        for at, one in enumerate(statistics):
            left = 8 + (at % COLUMNS) * (width + GAP)
            top = 28 + (at // COLUMNS) * CELL
            axes = chart.axes(
                left=left,
                top=top + 20,
                right=WIDTH - left - width,
                bottom=chart.height - top - CELL + 26,
            )
            chart.text(left, top + 10, short(one.name, 22), ha="left", va="center", fontsize=SMALL)
            if one.histogram is not None:
                _draw(axes, one.histogram)
        legend(chart, [("simulation", SIM, "", "-"), ("real", REAL, "", "--")])
        names = ", ".join(one.name for one in statistics)
        return chart.svg("inputs", f"Distributions in simulation and real: {names}.")


def _draw(axes: "Axes", histogram: Histogram) -> None:
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    highest = max([*histogram.sim, *histogram.real, 1e-9])
    axes.set_ylim(0, 1.08 * highest)
    if histogram.words:
        _words(axes, histogram)
        return
    edges = histogram.edges
    axes.stairs(histogram.sim, edges, color=SIM, fill=True, alpha=0.3, linewidth=0)
    axes.stairs(histogram.sim, edges, color=SIM, linewidth=1.5)
    axes.stairs(histogram.real, edges, color=REAL, linewidth=1.5, linestyle="--")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xticks([edges[0], edges[-1]], [f"{edges[0]:.3g}", f"{edges[-1]:.3g}"])
    first, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.tick_params(axis="x", labelcolor=MUTED, labelsize=SMALL)


def _words(axes: "Axes", histogram: Histogram) -> None:
    number = min(len(histogram.words), MOST_WORDS)
    places = range(number)
    axes.bar([at - 0.2 for at in places], histogram.sim[:number], 0.36, color=SIM, alpha=0.6)
    axes.bar(
        [at + 0.2 for at in places],
        histogram.real[:number],
        0.36,
        facecolor="none",
        edgecolor=REAL,
        linewidth=1.5,
        linestyle="--",
    )
    axes.axhline(0, color=LINE, linewidth=1)
    axes.set_xlim(-0.6, number - 0.4)
    axes.set_xticks(places, [short(word, 9) for word in histogram.words[:number]])
    axes.tick_params(axis="x", labelcolor=MUTED, labelsize=SMALL)
