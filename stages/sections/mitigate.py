"""What restores service: what was tried with its figures, and how to serve until it is mended."""

from collections.abc import Mapping
from typing import Any

from stages.metric import Metric
from stages.reports.mitigate import MitigateReport, Offer
from stages.reports.page import Answer
from stages.section import Files, Section
from stages.stage import Estimate


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Write each offer's figures in its own unit."""
    found = answer.mitigate
    if not isinstance(found, MitigateReport):
        return {"mitigation": found, "offers": [], "case": answer.case}
    metric = Metric(found.metric, found.unit)
    changing = (one.kind for one in found.accepted if one.acts_on != "confidence")
    return {
        "mitigation": found,
        "apply": next(changing, None),
        "offers": [_told(one, metric) for one in found.offers],
        "modes": found.safe_mode,
        "served": metric,
        "margin": metric.loss(found.margin),
        "case": answer.case,
    }


def _told(one: Offer, metric: Metric) -> dict[str, Any]:
    """Write the figures: of the metric in its unit, of the confidence as a Brier score."""
    brier = one.measure == "brier"

    def level(found: Estimate) -> str:
        return f"{found.value:.3f}" if brier else metric.level(found.value)

    def bounds(found: Estimate) -> str:
        low, high = found.low, found.high
        return f"{low:.3f} to {high:.3f}" if brier else f"{metric.bare(low)} to {metric.bare(high)}"

    def gain(found: Estimate) -> str:
        return f"{found.value:+.3f}" if brier else metric.signed(-_better(found.value, metric))

    return {
        "offer": one,
        "state": "open" if one.accepted else "closed",
        "says": "accepted" if one.accepted else "not accepted",
        "measure": "Brier score of the confidence" if brier else metric.word,
        "before": level(one.before),
        "before_bounds": bounds(one.before),
        "after": level(one.after),
        "after_bounds": bounds(one.after),
        "gain": gain(one.gain),
        "gain_bounds": _change(one.gain, metric, brier=brier),
        "sim": None if one.sim is None else gain(one.sim),
        "sim_bounds": None if one.sim is None else _change(one.sim, metric, brier=brier),
    }


def _better(value: float, metric: Metric) -> float:
    """Turn a gain in scores, of which more is better, into a change of the shown level."""
    return -value if metric.less_is_better else value


def _change(found: Estimate, metric: Metric, *, brier: bool) -> str:
    if brier:
        return f"{found.low:+.3f} to {found.high:+.3f}"
    ends = sorted(_better(end, metric) for end in (found.low, found.high))
    return " to ".join(metric.signed(-end) for end in ends)


SECTION = Section("mitigate", view)
