"""The charts of an evaluation: reliability, what abstaining buys, groups, misses of numbers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stages.metric import Metric
from stages.plots import few_ticks, legend, percent_axis, right_of, short
from stages.plots_ink import INK, LINE, LOSS, MUTED, REAL, SIM, SMALL, THIRD, Chart, inked
from stages.reports.evaluate import (
    Evaluated,
    OperatingPointReport,
    Part,
    SweepPoint,
    Unlabelled,
)
from stages.stage import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS = {"sim": (SIM, "o", "-"), "real": (REAL, "^", "--")}
WORDS = {"sim": "simulation", "real": "real"}
LINES = ((SIM, "-"), (REAL, "--"), (THIRD, ":"), (LOSS, "-."), (MUTED, "-"), (INK, ":"))
Points = Sequence[tuple[float, float]]


def reliability(curves: Mapping[str, Evaluated]) -> str:
    """Draw accuracy over confidence, in bins of equal mass, beside the diagonal."""
    with inked():
        chart = Chart(330)
        axes = chart.axes(left=42, top=30, right=12, bottom=38)
        axes.plot([0, 100], [0, 100], color=MUTED, linewidth=1, linestyle=":")
        for where, one in curves.items():
            colour, marker, dash = LOOKS[where]
            bins = one.calibration.bins if one.calibration else []
            x = [100 * it.confidence for it in bins]
            axes.vlines(
                x, [100 * it.low for it in bins], [100 * it.high for it in bins], color=colour
            )
            y = [100 * it.accuracy for it in bins]
            axes.plot(x, y, dash, color=colour, linewidth=2, marker=marker, markersize=6)
        least = min((it.confidence for one in curves.values() if one.calibration
                     for it in one.calibration.bins), default=0.0)  # fmt: skip
        _share_axes(axes, "mean confidence of the bin, %", "accuracy, %", 100 * least)
        legend(chart, [(WORDS[where], *LOOKS[where]) for where in curves])
        return chart.svg("reliability", "Accuracy over confidence, in bins of equally many rows.")


def sweep(kept: Mapping[str, Sequence[SweepPoint]]) -> str:
    """Draw the accuracy of what is answered over how much is answered."""
    rows = -(-len(kept) // 2)
    with inked():
        chart = Chart(300 + 18 * rows)
        axes = chart.axes(left=42, top=12 + 18 * rows, right=12, bottom=38)
        lines = []
        for (name, points), (colour, dash) in zip(kept.items(), LINES, strict=False):
            x, y = ([100 * getattr(it, key) for it in points] for key in ("coverage", "accuracy"))
            axes.plot(x, y, dash, color=colour, linewidth=2)
            lines.append((name, colour, "", dash))
        axes.set_xlim(102, 0)  # from all rows to the surest
        least = min(it.accuracy for points in kept.values() for it in points)
        axes.set_ylim(max(0, 100 * least // 10 * 10 - 10), 102)
        _ticks(axes, "rows that are answered, the surest last, %", "accuracy of those, %")
        legend(chart, lines, columns=2)
        return chart.svg("sweep", "Accuracy over the share of rows that are answered.")


def operating(points: Sequence[OperatingPointReport]) -> str:
    """Draw precision and recall of class 1 over the threshold."""
    with inked():
        chart = Chart(300)
        axes = chart.axes(left=42, top=30, right=12, bottom=38)
        x = [100 * point.threshold for point in points]
        axes.plot(x, [100 * it.precision for it in points], "-", color=SIM, linewidth=2)
        axes.plot(x, [100 * it.recall for it in points], "--", color=REAL, linewidth=2)
        _share_axes(axes, "threshold on the probability of class 1, %", "share, %", 0)
        legend(chart, [("precision", SIM, "", "-"), ("recall", REAL, "", "--")])
        return chart.svg("operating", "Precision and recall of class 1 over the threshold.")


def confidence(told: Unlabelled) -> str:
    """Draw how sure the answers are, in simulation and on real rows."""
    with inked():
        chart = Chart(250)
        axes = chart.axes(left=42, top=30, right=12, bottom=38)
        edges = np.linspace(0, 100, len(told.histogram_real) + 1)
        if told.histogram_sim:
            sim = [100 * share for share in told.histogram_sim]
            axes.stairs(sim, edges, color=SIM, fill=True, alpha=0.3, linewidth=0)
            axes.stairs(sim, edges, color=SIM, linewidth=1.5)
        real = [100 * share for share in told.histogram_real]
        axes.stairs(real, edges, color=REAL, linewidth=1.5, linestyle="--")
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 1.05 * max([*real, *(100 * it for it in told.histogram_sim)]))
        axes.yaxis.set_major_locator(few_ticks(4))
        _ticks(axes, "confidence, %", "rows, %")
        legend(chart, [("simulation", SIM, "", "-"), ("real", REAL, "", "--")])
        return chart.svg("confidence", "Shares of rows by confidence, simulation and real.")


def groups(parts: Sequence[Part], whole: Estimate | None) -> str:
    """Draw the metric of each group with its interval, the worst on top."""
    with inked():
        chart = Chart(len(parts) * 26 + 46)
        axes = chart.axes(left=104, top=4, right=58, bottom=38)
        axes.set_ylim(len(parts) - 0.5, -0.5)
        axes.spines["left"].set_visible(False)
        axes.xaxis.grid(visible=True)
        axes.set_axisbelow(True)
        if whole is not None:
            axes.axvline(100 * whole.value, color=MUTED, linewidth=1.5, linestyle="-.")
        for row, part in enumerate(parts):
            found = part.metric
            axes.hlines(row, 100 * found.low, 100 * found.high, color=REAL, linewidth=1.5)
            axes.plot(100 * found.value, row, "o", color=REAL, markersize=6)
            right_of(axes, row, f"n {found.n}")
        axes.set_yticks(range(len(parts)), [short(part.name, 14) for part in parts])
        percent_axis(axes, "x", "accuracy, %")
        named = ", ".join(f"{it.name} {Metric('accuracy').level(it.metric.value)}" for it in parts)
        return chart.svg("groups", f"Accuracy by group, the worst first: {named}.")


def predicted(points: Mapping[str, Points], unit: str | None) -> str:
    """Draw predicted over true values, beside the diagonal."""
    with inked():
        chart = Chart(340)
        axes = chart.axes(left=50, top=30, right=12, bottom=38)
        every = [value for pairs in points.values() for pair in pairs for value in pair]
        low, high = min(every), max(every)
        axes.plot([low, high], [low, high], color=MUTED, linewidth=1, linestyle=":")
        for where, pairs in points.items():
            _dots(axes, where, pairs)
        _number_axes(axes, f"true value{_in(unit)}", f"predicted{_in(unit)}")
        legend(chart, [(WORDS[where], *LOOKS[where][:2], "") for where in points])
        return chart.svg("predicted", "Predicted over true values; the dotted line: exactly right.")


def misses(points: Mapping[str, Points], unit: str | None) -> str:
    """Draw prediction minus truth over the prediction."""
    with inked():
        chart = Chart(300)
        axes = chart.axes(left=50, top=30, right=12, bottom=38)
        axes.axhline(0, color=MUTED, linewidth=1, linestyle=":")
        for where, pairs in points.items():
            _dots(axes, where, [(made, made - true) for true, made in pairs])
        _number_axes(axes, f"predicted{_in(unit)}", f"predicted minus true{_in(unit)}")
        legend(chart, [(WORDS[where], *LOOKS[where][:2], "") for where in points])
        return chart.svg("misses", "Prediction minus truth over the prediction.")


def _dots(axes: "Axes", where: str, pairs: Points) -> None:
    colour, marker, _ = LOOKS[where]
    face = colour if where == "sim" else "none"
    x, y = ([pair[at] for pair in pairs] for at in (0, 1))
    axes.plot(
        x, y, marker, markersize=4, color=colour, markerfacecolor=face, alpha=0.65, linestyle="none"
    )


def _in(unit: str | None) -> str:
    return f", {unit}" if unit else ""


def _number_axes(axes: "Axes", below: str, beside: str) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(few_ticks(4))
    _ticks(axes, below, beside)


def _share_axes(axes: "Axes", below: str, beside: str, least: float) -> None:
    start = 0 if least < 50 else 50  # noqa: PLR2004  of two classes nobody is less than half sure
    axes.set_xlim(start, 101)
    axes.set_ylim(-1, 102)
    axes.yaxis.set_major_locator(few_ticks(5))
    _ticks(axes, below, beside)


def _ticks(axes: "Axes", below: str, beside: str) -> None:
    axes.set_xlabel(below)
    axes.set_ylabel(beside)
    axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
    axes.grid(visible=True, color=LINE)
    axes.set_axisbelow(True)
