"""The probe ladder: what each way to use labels reaches, over how many there are."""

from collections.abc import Mapping

from stages.metric import Metric
from stages.plots import few_ticks, legend, percent_axis
from stages.plots_ink import LOSS, MUTED, REAL, SIM, SMALL, THIRD, Chart, inked
from stages.reports.probe import KINDS, Kind, ProbeReport

LOOKS: Mapping[Kind, tuple[str, str, str]] = {
    "bias": (LOSS, "v", "-"),
    "temperature": (LOSS, "x", ":"),
    "last_layer": (THIRD, "s", "-"),
    "bn_statistics": (THIRD, "d", ":"),
    "first_block": (SIM, "o", ":"),
    "lp_ft": (SIM, "P", "--"),
    "whole_model": (SIM, "o", "-"),
    "scratch": (REAL, "^", "--"),
}


def ladder(probe: ProbeReport) -> str:
    """Draw the metric over real labels for all kinds, beside the unchanged model."""
    metric = Metric(probe.metric, probe.unit)
    factor = 100 if metric.is_share else 1
    with inked():
        chart = Chart(372)
        axes = chart.axes(left=42, top=104, right=12, bottom=38)
        base = probe.baseline
        axes.axhspan(factor * base.low, factor * base.high, color=MUTED, alpha=0.16, linewidth=0)
        axes.axhline(factor * base.value, color=MUTED, linewidth=2, linestyle="-.")
        counts = sorted({rung.labels for rung in probe.ladder})
        kinds = [kind for kind in LOOKS if any(rung.kind == kind for rung in probe.ladder)]
        for kind in kinds:
            colour, marker, dash = LOOKS[kind]
            own = sorted((r for r in probe.ladder if r.kind == kind), key=lambda r: r.labels)
            x = [counts.index(rung.labels) for rung in own]
            y = [factor * rung.real.value for rung in own]
            axes.plot(x, y, dash, color=colour, linewidth=1.8, marker=marker, markersize=6)
        axes.set_xticks(range(len(counts)), [str(count) for count in counts])
        axes.set_xlim(-0.35, len(counts) - 0.65)
        axes.set_xlabel("real labels used")
        if metric.is_share:
            percent_axis(axes, "y", f"{metric.word}, %")
        else:
            axes.yaxis.set_major_locator(few_ticks(4))
            axes.set_ylabel(metric.word if metric.name == "r2" else f"error, {metric.unit}")
            axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
            axes.yaxis.grid(visible=True)
            axes.set_axisbelow(True)
        named = [(KINDS[kind], *LOOKS[kind]) for kind in kinds]
        legend(chart, [*named, ("unchanged model", MUTED, "", "-.")], columns=2)
        says = f"{metric.word} over labels, {len(kinds)} ways to use them"
        return chart.svg("ladder", f"{says}; unchanged {metric.level(base.value)}.")
