"""Charts of the field's data: what undoing a property regains, channels, lags, sim made alike."""

from collections.abc import Sequence

from stages.metric import Metric
from stages.plots import few_ticks, legend, right_of, short
from stages.plots_ink import LOSS, MUTED, PAPER, REAL, SIM, SMALL, THIRD, WIDTH, Chart, inked
from stages.reports.field import Ablated, Experiment, LagPoint
from stages.stage import Estimate

ROW = 26  # px
LEFT = 158  # px for the titles
LOOKS = ((SIM, "-"), (REAL, "--"), (THIRD, ":"))  # of lag curves


def regained(shown: Sequence[Experiment], metric: Metric, gap: float, alpha: float) -> str:
    """Draw what each alteration regains with its interval, filled where that is sure."""
    with inked():
        chart = Chart(ROW * len(shown) + 62)
        axes = chart.axes(left=LEFT, top=24, right=62, bottom=38)
        factor = 100 if metric.is_share else 1
        for row, one in enumerate(shown):
            sure = one.p_holm is not None and one.p_holm <= alpha and one.change.low > 0
            _whisker(axes, row, one.change, factor)
            axes.plot(
                factor * one.change.value,
                row,
                "o",
                markersize=7,
                color=LOSS if sure else PAPER,
                markeredgecolor=LOSS if sure else MUTED,
                markeredgewidth=1.5,
                zorder=3,
            )
            right_of(axes, row, metric.signed(-one.change.value))
        _rows(axes, [one.title for one in shown])
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.axvline(factor * gap, color=LOSS, linewidth=1, linestyle="--")
        axes.set_xlabel(_unit("regained on real rows", metric))
        chart.text(WIDTH - 2, 12, _short_unit(metric), ha="right", va="center", fontsize=SMALL)
        says = "; ".join(f"{one.title} {metric.signed(-one.change.value)}" for one in shown)
        return chart.svg("regained", f"Regained by each alteration: {says}.")


def made_alike(shown: Sequence[Experiment], metric: Metric, gap: float) -> str:
    """Draw what simulation loses when it is made like the field."""
    with inked():
        chart = Chart(ROW * len(shown) + 62)
        axes = chart.axes(left=LEFT, top=24, right=62, bottom=38)
        factor = 100 if metric.is_share else 1
        for row, one in enumerate(shown):
            axes.barh(row, factor * one.change.value, height=0.5, color=SIM, alpha=0.6)
            _whisker(axes, row, one.change, factor)
            right_of(axes, row, metric.signed(one.change.value))
        _rows(axes, [_made(one.title) for one in shown])
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.axvline(factor * gap, color=LOSS, linewidth=1, linestyle="--")
        axes.set_xlabel(_unit("lost by simulation", metric))
        says = "; ".join(f"{one.title} {metric.signed(one.change.value)}" for one in shown)
        return chart.svg("made-alike", f"Lost by simulation made like the field: {says}.")


def ablation(shown: Sequence[Ablated], metric: Metric) -> str:
    """Draw what each channel is worth in both domains: what is lost without it."""
    with inked():
        chart = Chart(34 * len(shown) + 66)
        axes = chart.axes(left=112, top=28, right=58, bottom=38)
        factor = 100 if metric.is_share else 1
        for row, one in enumerate(shown):
            for shift, found, colour in ((-0.2, one.lost_sim, SIM), (0.2, one.lost_real, REAL)):
                axes.barh(row + shift, factor * found.value, height=0.34, color=colour, alpha=0.6)
                _whisker(axes, row + shift, found, factor)
        _rows(axes, [one.channel for one in shown], 14)
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.set_xlabel(_unit("lost without the channel", metric))
        legend(chart, [("simulation", SIM, "", "-"), ("real", REAL, "", "-")])
        says = "; ".join(
            f"{one.channel} {metric.signed(one.lost_sim.value)} in simulation, "
            f"{metric.signed(one.lost_real.value)} in the field"
            for one in shown
        )
        return chart.svg("ablation", f"Lost without each channel: {says}.")


def lag_sweep(points: Sequence[LagPoint], metric: Metric) -> str:
    """Draw the metric over the lag of each channel that was moved."""
    channels = list(dict.fromkeys(one.channel for one in points))[: len(LOOKS)]
    with inked():
        chart = Chart(250)
        axes = chart.axes(left=46, top=30, right=12, bottom=38)
        factor = 100 if metric.is_share else 1
        for (colour, dash), channel in zip(LOOKS, channels, strict=False):
            own = sorted((one for one in points if one.channel == channel), key=lambda it: it.lag)
            lags = [one.lag for one in own]
            axes.fill_between(
                lags,
                [factor * one.level.low for one in own],
                [factor * one.level.high for one in own],
                color=colour,
                alpha=0.12,
                linewidth=0,
            )
            values = [factor * one.level.value for one in own]
            axes.plot(lags, values, dash, color=colour, linewidth=2, marker="o", markersize=4)
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.xaxis.set_major_locator(few_ticks(6))
        axes.set_xlabel("moved back by, samples")
        axes.set_ylabel(_unit(metric.word, metric))
        axes.yaxis.set_tick_params(labelcolor=MUTED, labelsize=SMALL)
        axes.yaxis.set_major_locator(few_ticks(4))
        axes.yaxis.grid(visible=True)
        looks = zip(LOOKS, channels, strict=False)
        legend(chart, [(short(name, 14), colour, "", dash) for (colour, dash), name in looks])
        return chart.svg("lags", f"{metric.word} over the lag of {', '.join(channels)}.")


def _rows(axes, titles: Sequence[str], most: int = 24) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    axes.set_ylim(len(titles) - 0.5, -0.5)
    names = [_cut(title, most) for title in titles]
    axes.set_yticks(range(len(titles)), names, fontsize=SMALL)
    axes.spines["left"].set_visible(False)
    axes.xaxis.grid(visible=True)
    axes.xaxis.set_major_locator(few_ticks(4))
    axes.set_axisbelow(True)


def _made(title: str) -> str:
    return title.removeprefix("simulation made so: ").removeprefix("simulation ")


def _cut(text: str, most: int) -> str:
    """Keep the beginning of a title: what it is about stands there."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _whisker(axes, row: float, found: Estimate, factor: float) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    ends = [factor * found.low, factor * found.high]
    axes.plot(ends, [row, row], color=MUTED, linewidth=1.5, solid_capstyle="butt")


def _unit(what: str, metric: Metric) -> str:
    if metric.is_share:
        return f"{what}, points" if what != metric.word else f"{what}, %"
    return f"{what}, {metric.unit or metric.word}" if what != metric.word else what


def _short_unit(metric: Metric) -> str:
    return "points" if metric.is_share else metric.unit or metric.word
