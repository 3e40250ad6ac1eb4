"""What in the field's data costs the metric, and how undoing or making it shows that."""

from collections.abc import Mapping
from typing import Any

from stages.metric import Metric
from stages.reports.field import Experiment, FieldReport
from stages.reports.page import Answer
from stages.section import Files, Section

SHOWN = 12  # alterations in a chart; the others stand in a table
ALPHA = 0.05
RULED = ("exchanged", "off_by_one", "mirrored")  # confusions that another map of labels would mend


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Draw the experiments; what the suspects are stands in the verdict."""
    found = answer.field
    if not isinstance(found, FieldReport):
        return {"field": found}
    metric = Metric(found.metric, found.unit)
    tried = [one for one in found.experiments if one.domain == "real" and one.p_holm is not None]
    alike = [one for one in found.experiments if one.family == "reproduce"]
    made = [one for one in alike if one.change.value > 0] or alike[:1]
    first = [one for one in found.suspects if one.kind not in ("sim_to_real_gap", "unknown")]
    return {
        "field": found,
        "unit": metric,
        "tried": tried,
        "surely": [one for one in tried if _sure(one)],
        "first": first[0] if first else None,
        "shares": _shares(found),
        "charts": _charts(found, tried[:SHOWN], made[:SHOWN], metric),
        "sides": [
            {
                "name": one.name,
                "level": metric.level(one.level.value),
                "bounds": f"{metric.bare(one.level.low)} to {metric.bare(one.level.high)}",
                "change": None if one.change is None else metric.signed(-one.change.value),
                "change_bounds": None
                if one.change is None
                else " to ".join(metric.signed(-end) for end in (one.change.low, one.change.high)),
            }
            for one in found.triage
        ],
    }


def _sure(one: Experiment) -> bool:
    return one.p_holm is not None and one.p_holm <= ALPHA and one.change.low > 0


def _shares(found: FieldReport) -> list[Any]:
    """Show classes only where the shift of their shares is a matter."""
    if found.prior is None or found.prior.p_shift > ALPHA:
        return []
    return sorted(found.prior.classes, key=lambda one: -abs(one.real - one.sim))[:10]


def _charts(
    found: FieldReport, tried: list[Experiment], made: list[Experiment], metric: Metric
) -> dict[str, Any]:
    import numpy as np

    from stages import plots_field
    from stages.page_view import drawn
    from stages.plots import confusion

    gap = found.gap.value
    charts: dict[str, Any] = {}
    if tried:
        charts["regained"] = drawn(plots_field.regained(tried, metric, gap, ALPHA))
    if made:
        charts["made"] = drawn(plots_field.made_alike(made, metric, gap))
    if found.ablation:
        charts["ablation"] = drawn(plots_field.ablation(found.ablation, metric))
    if found.lags:
        charts["lags"] = drawn(plots_field.lag_sweep(found.lags, metric))
    told = found.confusion
    ruled = told is not None and any(one.kind in RULED for one in told.named)
    if ruled and told is not None and told.after is not None:
        before, after = (np.array(table) for table in (told.before, told.after))
        charts["before"] = drawn(confusion("field-before", "Truth by answer, as it is.", before))
        charts["after"] = drawn(confusion("field-after", "The same, relabelled.", after))
    return charts


SECTION = Section("field", view)
