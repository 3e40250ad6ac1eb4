"""The charts of the page: what the gap is made of, where it begins, what labels buy, who errs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stages.metric import Metric
from stages.plots_ink import (
    INK,
    LINE,
    LOSS,
    MUTED,
    PAPER,
    REAL,
    SIM,
    SMALL,
    THIRD,
    WIDTH,
    Chart,
    inked,
)
from stages.reports.diagnose import DiagnoseReport
from stages.reports.features import FeaturesReport
from stages.reports.probe import KINDS, Kind, ProbeReport
from stages.stage import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

ROW = 34  # px
SHOWN_LAYERS = 24
SHOWN_POINTS = 250  # a domain
SHOWN_SHARE = 0.005
SHOWN_CLASSES = 12  # beyond that cells are too small for figures
BOTH = "model, postproc."  # of a diagnosis that does not tell the two apart
LOOKS: Mapping[Kind, tuple[str, str, str]] = {
    "whole_model": (SIM, "o", "-"),
    "last_layer": (THIRD, "s", ":"),
    "scratch": (REAL, "^", "--"),
}


def waterfall(diagnosis: DiagnoseReport) -> str:
    """Draw how the parts lead from validation down to the field."""
    metric = Metric(diagnosis.metric, diagnosis.unit)
    start, sim = _start(diagnosis)
    deployed = diagnosis.levels[-1].metric
    towards = 1 if metric.less_is_better else -1  # where a loss leads
    rows = len(diagnosis.parts) + 2
    height = rows * ROW + 42
    with inked():
        chart = Chart(height)
        axes = chart.axes(left=112, top=4, right=58, bottom=38)
        _rows_down(axes, rows)
        factor = 100 if metric.is_share else 1
        _level(axes, 0, sim, SIM, factor)
        at = sim.value
        for row, part in enumerate(diagnosis.parts, 1):
            ends = (part.loss.value, part.loss.low, part.loss.high)
            _step_down(axes, row, factor * at, [factor * (at + towards * end) for end in ends])
            at += towards * part.loss.value
        _level(axes, rows - 1, deployed, REAL, factor)
        parts = [part.component for part in diagnosis.parts]
        apart = "postprocessing" in parts
        names = [start, *(BOTH if p == "model" and not apart else p for p in parts)]
        end = "as deployed" if "deployed" in diagnosis.levels[-1].name else "as far as known"
        end = end if diagnosis.metric != "agreement" else "as deployed"
        axes.set_yticks(range(rows), [*names, end])
        losses = (part.loss.value for part in diagnosis.parts)
        figures = [metric.bare(sim.value), *map(metric.signed, losses)]
        for row, text in enumerate([*figures, metric.bare(deployed.value)]):
            right_of(axes, row, text, weight="bold" if row in (0, rows - 1) else "normal")
        _metric_axis(axes, "x", metric, diagnosis.measured_as)
        says = "From the reference to the field: " + ", ".join(
            f"{name} {figure}" for name, figure in zip(names, figures, strict=True)
        )
        return chart.svg("waterfall", f"{says}, {end} {metric.level(deployed.value)}.")


def _start(diagnosis: DiagnoseReport) -> tuple[str, Estimate]:
    """Return where the parts begin: at validation, or at the reference on real rows."""
    levels = {level.name: level.metric for level in diagnosis.levels}
    if diagnosis.gap is not None:
        return "simulation", levels["simulation"]
    # The reference agrees with itself.
    itself = Estimate(value=1, low=1, high=1, n=diagnosis.levels[-1].metric.n)
    return "reference", levels.get("real, reference", itself)


def layers(features: FeaturesReport) -> str:
    """Draw the effect from the input on, and mark where it begins."""
    shown = features.layers
    if len(shown) > SHOWN_LAYERS:
        keep = np.unique(np.linspace(0, len(shown) - 1, SHOWN_LAYERS).round().astype(int))
        shown = [
            layer
            for at, layer in enumerate(shown)
            if at in keep or layer.layer == features.begins_at
        ]
    effects, none = [layer.effect for layer in shown], features.no_effect
    rows = [*range(len(shown))]
    with inked():
        chart = Chart(len(shown) * 30 + 64)
        axes = chart.axes(left=96, top=24, right=62, bottom=38)
        _rows_down(axes, len(shown))
        axes.hlines(rows, none, effects, color=LINE, linewidth=2)
        axes.plot(effects, rows, color=MUTED, linewidth=1, zorder=2)
        for row, layer in zip(rows, shown, strict=True):
            clear = layer.p_holm <= features.alpha
            axes.plot(
                layer.effect,
                row,
                "o",
                markersize=8,
                color=LOSS if clear else PAPER,
                markeredgecolor=LOSS if clear else MUTED,
                markeredgewidth=1.5,
                zorder=3,
            )
            right_of(axes, row, f"{layer.p_holm:.3f}")
            if layer.layer == features.begins_at:
                axes.axhspan(row - 0.5, row + 0.5, color=LOSS, alpha=0.12, linewidth=0)
        axes.set_yticks(rows, [short(layer.layer, 14) for layer in shown])
        axes.axvline(none, color=MUTED, linewidth=1)
        low, high = min(none, *effects), max(none, *effects)
        axes.set_xlim(low - 0.06 * (high - low or 1), high + 0.06 * (high - low or 1))
        axes.xaxis.set_major_locator(few_ticks(4))
        axes.set_xlabel(f"effect ({none:g}: sim and real alike)")
        chart.text(WIDTH - 2, 12, "Holm p", ha="right", va="center", color=MUTED, fontsize=SMALL)
        begins = features.begins_at or "no layer"
        return chart.svg("layers", f"Effect by layer; the gap begins at {begins}.")


def scatter(points: Mapping[str, NDArray[np.float64]], features: FeaturesReport) -> str:
    """Draw the projection of one layer: (rows, 2) for sim and real."""
    with inked():
        chart = Chart(314)
        axes = chart.axes(left=42, top=30, right=8, bottom=38)
        looks = {"sim": (SIM, "o", SIM), "real": (REAL, "^", "none")}
        for name, (colour, marker, face) in looks.items():
            xy = _thin(points.get(name, np.empty((0, 2))))
            axes.plot(
                xy[:, 0],
                xy[:, 1],
                marker,
                markersize=4,
                color=colour,
                markerfacecolor=face,
                alpha=0.65,
                markeredgewidth=1,
            )
        legend(chart, [("simulation", SIM, "o", ""), ("real", REAL, "^", "")])
        shares = [*features.projected_explained, 0.0, 0.0]
        axes.set_xlabel(f"component 1 ({100 * shares[0]:.0f} % of variance)")
        axes.set_ylabel(f"component 2 ({100 * shares[1]:.0f} %)")
        axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(few_ticks(4))
        return chart.svg(
            "scatter", f"Sim and real in the first two components of {features.projected_layer}."
        )


def few_shot(probe: ProbeReport) -> str:
    """Draw the metric over labels for each way to use them, beside the unchanged model."""
    metric = Metric(probe.metric, probe.unit)
    factor = 100 if metric.is_share else 1
    with inked():
        chart = Chart(304)
        kinds = [kind for kind in LOOKS if any(point.kind == kind for point in probe.points)]
        lines = [(KINDS[kind], *LOOKS[kind]) for kind in kinds]
        axes = chart.axes(left=42, top=52, right=12, bottom=38)
        base = probe.baseline
        axes.axhspan(factor * base.low, factor * base.high, color=MUTED, alpha=0.16, linewidth=0)
        axes.axhline(factor * base.value, color=MUTED, linewidth=2, linestyle="-.")
        counts = sorted({point.labels for point in probe.points})
        for shift, kind in enumerate(kinds):
            colour, marker, dash = LOOKS[kind]
            own = sorted((p for p in probe.points if p.kind == kind), key=lambda p: p.labels)
            x = [counts.index(point.labels) + 0.07 * (shift - 1) for point in own]
            y = np.array([factor * point.level.value for point in own])
            low = y - [factor * point.level.low for point in own]
            high = [factor * point.level.high for point in own] - y
            axes.plot(x, y, dash, color=colour, linewidth=2, marker=marker, markersize=7)
            axes.errorbar(
                x,
                y,
                [low, high],
                fmt="none",
                color=colour,
                ecolor=colour,
                elinewidth=1.5,
                capsize=3,
            )
        axes.set_xticks(range(len(counts)), [str(count) for count in counts])
        axes.set_xlim(-0.35, len(counts) - 0.65)
        axes.set_xlabel("real labels used")
        _metric_axis(axes, "y", metric, metric.word)
        legend(chart, [*lines, ("unchanged model", MUTED, "", "-.")], columns=2)
        word = f"{metric.word[0].upper()}{metric.word[1:]}"
        says = f"{word} over labels; unchanged {metric.level(base.value)}."
        return chart.svg("few-shot", says)


def confusion(name: str, says: str, counts: NDArray[np.int64]) -> str:
    """Draw a (classes, classes) table of truth by answer as shares of each row."""
    from matplotlib.patches import Rectangle

    size = len(counts)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    with inked():
        chart = Chart(344)
        axes = chart.axes(left=42, top=6, right=6, bottom=38)
        for row in range(size):
            for column in range(size):
                share = float(shares[row, column])
                if share < SHOWN_SHARE:
                    continue
                colour = SIM if row == column else LOSS
                corner, deep = (column - 0.48, row - 0.48), 0.1 + 0.45 * share
                axes.add_patch(Rectangle(corner, 0.96, 0.96, color=colour, alpha=deep, linewidth=0))
                if size <= SHOWN_CLASSES:
                    axes.text(
                        column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=SMALL
                    )
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(size - 0.5, -0.5)
        every = max(1, size // 10)
        axes.set_xticks(range(0, size, every))
        axes.set_yticks(range(0, size, every))
        axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
        axes.set_xlabel("answered class")
        axes.set_ylabel("true class")
        return chart.svg(name, says)


def _rows_down(axes: "Axes", rows: int) -> None:
    axes.set_ylim(rows - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.xaxis.grid(visible=True)
    axes.set_axisbelow(True)


def _level(axes: "Axes", row: int, level: Estimate, colour: str, factor: float) -> None:
    axes.barh(row, factor * level.value, height=0.56, color=colour)
    _whisker(axes, row, factor * level.low, factor * level.high)


def _step_down(axes: "Axes", row: int, at: float, ends: Sequence[float]) -> None:
    """Draw a part from where it begins to where it ends; both bounds of that end come after it."""
    end, *bounds = ends
    width = abs(end - at)
    axes.barh(row, width, left=min(at, end), height=0.56, color=LOSS, alpha=0.4, linewidth=0)
    axes.vlines(at, row - 1.28, row + 0.28, color=MUTED, linewidth=1)
    axes.vlines(end, row - 0.28, row + 1.28, color=MUTED, linewidth=1)
    _whisker(axes, row, min(bounds), max(bounds))


def _whisker(axes: "Axes", row: int, low: float, high: float) -> None:
    axes.plot([low, high], [row, row], color=INK, linewidth=1.5, solid_capstyle="butt")
    for end in (low, high):
        axes.plot([end] * 2, [row - 0.13, row + 0.13], color=INK, linewidth=1.5)


def right_of(axes: "Axes", row: int, text: str, weight: str = "normal") -> None:
    """Write beside the axes, in line with a row."""
    axes.annotate(
        text,
        (1, row),
        xycoords=("axes fraction", "data"),
        xytext=(56, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontweight=weight,
    )


def _metric_axis(axes: "Axes", which: str, metric: Metric, word: str) -> None:
    if metric.is_share:
        percent_axis(axes, which, f"{word}, %")
        return
    label = f"{word}, {metric.unit}" if metric.less_is_better and metric.unit else word
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(few_ticks(4))
    axis.set_label_text(label)
    if which == "y":
        axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
        axes.yaxis.grid(visible=True)
        axes.set_axisbelow(True)


def percent_axis(axes: "Axes", which: str, label: str) -> None:
    """Let an axis go from 0 to 100."""
    if which == "x":
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 25))
        axes.set_xlabel(label)
        return
    axes.set_ylim(0, 100)
    axes.set_yticks(range(0, 101, 20))
    axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
    axes.set_ylabel(label)
    axes.yaxis.grid(visible=True)
    axes.set_axisbelow(True)


def legend(chart: Chart, entries: Sequence[tuple[str, str, str, str]], columns: int = 3) -> None:
    """Name (name, colour, marker, dash) above the axes, in columns."""
    from matplotlib.lines import Line2D

    width = (WIDTH - 42) / columns
    for at, (name, colour, marker, dash) in enumerate(entries):
        x, y = 42 + (at % columns) * width, 12 + (at // columns) * 18
        ends = [x / WIDTH, (x + 11) / WIDTH, (x + 22) / WIDTH]
        line = Line2D(ends, [1 - y / chart.height] * 3, color=colour, linewidth=2, markevery=[1])
        line.set(linestyle=dash or "none", marker=marker, markersize=6)
        if not dash and marker == "^":
            line.set(markerfacecolor="none", markeredgewidth=1)
        chart.figure.add_artist(line)
        chart.text(x + 28, y, name, ha="left", va="center", fontsize=SMALL)


def few_ticks(number: int) -> "Locator":
    """Return what places about so many ticks."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(number)


def _thin(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keep every k-th row: a fixed choice, and enough to see a shape."""
    return points[:: max(1, -(-len(points) // SHOWN_POINTS))]


def short(text: str, most: int) -> str:
    """Keep the end of a long name: that is where names of one kind differ."""
    return text if len(text) <= most else f"…{text[1 - most :]}"
