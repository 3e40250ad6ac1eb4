"""The chart of the runtime: by how much each layer differs, both models given the same tensors."""

from collections.abc import Sequence

import numpy as np

from stages.plots import short
from stages.plots_ink import LINE, LOSS, MUTED, PAPER, SMALL, WIDTH, Chart, inked
from stages.reports.runtime import LayerPair, RuntimeReport

SHOWN = 24
LEAST = 1e-8  # of a layer's size: below it all is one to float32
MOST = 10.0
THOUSAND = 1000


def layer_errors(runtime: RuntimeReport) -> str:
    """Draw the relative error from layer to layer, the first that differs marked."""
    shown = _shown(runtime)
    rows = [*range(len(shown))]
    errors = [_drawn(pair) for pair in shown]
    with inked():
        chart = Chart(len(shown) * 30 + 64)
        axes = chart.axes(left=96, top=24, right=92, bottom=38)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.spines["left"].set_visible(False)
        axes.set_xscale("log")
        axes.set_xlim(LEAST / 2, MOST * 2)
        axes.xaxis.grid(visible=True)
        axes.set_axisbelow(True)
        axes.hlines(rows, LEAST / 2, errors, color=LINE, linewidth=2)
        axes.plot(errors, rows, color=MUTED, linewidth=1, zorder=2)
        axes.axvline(runtime.tolerance, color=MUTED, linewidth=1, linestyle="--")
        for row, pair, error in zip(rows, shown, errors, strict=True):
            axes.plot(
                error,
                row,
                "o",
                markersize=8,
                color=PAPER if pair.equal else LOSS,
                markeredgecolor=MUTED if pair.equal else LOSS,
                markeredgewidth=1.5,
                zorder=3,
            )
            axes.annotate(
                _range(pair),
                (1, row),
                xycoords=("axes fraction", "data"),
                xytext=(88, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=SMALL,
            )
            if pair.layer == runtime.first_layer:
                axes.axhspan(row - 0.5, row + 0.5, color=LOSS, alpha=0.12, linewidth=0)
        axes.set_yticks(rows, [short(pair.layer, 14) for pair in shown])
        ticks = [1e-8, 1e-6, 1e-4, 1e-2, 1.0]
        axes.set_xticks(ticks, ["0", "1e-6", "1e-4", "1 %", "100 %"])
        axes.minorticks_off()
        axes.set_xlabel("difference, over the layer's size")
        chart.text(WIDTH - 2, 12, "largest", ha="right", va="center", color=MUTED, fontsize=SMALL)
        first = runtime.first_layer or "no layer"
        return chart.svg("runtime", f"Relative error by layer; the first that differs: {first}.")


def _shown(runtime: RuntimeReport) -> Sequence[LayerPair]:
    """Keep evenly spaced layers where there are many, and always the first that differs."""
    pairs = runtime.layers
    if len(pairs) <= SHOWN:
        return pairs
    keep = set(np.linspace(0, len(pairs) - 1, SHOWN).round().astype(int))
    return [
        pair for at, pair in enumerate(pairs) if at in keep or pair.layer == runtime.first_layer
    ]


def _drawn(pair: LayerPair) -> float:
    if pair.relative_error is None:
        return LEAST if pair.equal else MOST
    return float(np.clip(pair.relative_error, LEAST, MOST))


def _range(pair: LayerPair) -> str:
    """Write the largest number of both sides; one where they are the same."""
    told = [
        _number(largest, bad)
        for largest, bad in zip(pair.max_abs, pair.num_not_finite, strict=True)
    ]
    return told[0] if told[0] == told[1] else f"{told[0]} \N{RIGHTWARDS ARROW} {told[1]}"


def _number(largest: float | None, num_not_finite: int) -> str:
    if num_not_finite:
        return "inf"
    if largest is None:
        return "none"
    return f"{largest:,.0f}" if largest >= THOUSAND else f"{largest:.3g}"
