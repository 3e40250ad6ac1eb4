"""What a few real labels buy: a curve, and the same in figures."""

from collections.abc import Mapping
from typing import Any

from stages.metric import Metric
from stages.reports.page import Answer
from stages.reports.probe import KINDS, ProbeReport
from stages.section import Files, Section


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Draw the curve where there are points."""
    from stages import plots
    from stages.page_view import drawn

    probe = answer.probe
    if not isinstance(probe, ProbeReport):
        return {"few_shot": None}
    return {
        "learnt": Metric(probe.metric, probe.unit),
        "few_shot": drawn(plots.few_shot(probe)) if probe.points else None,
        "labels": _table(probe),
    }


def _table(probe: ProbeReport) -> dict[str, Any]:
    """Arrange the points: a row for each number of labels, a column for each way to use them."""
    kinds = list(dict.fromkeys(point.kind for point in probe.points))
    by_place = {(point.labels, point.kind): point.level for point in probe.points}
    counts = sorted({point.labels for point in probe.points})
    rows = [(count, [by_place.get((count, kind)) for kind in kinds]) for count in counts]
    return {"kinds": [KINDS[kind] for kind in kinds], "rows": rows}


SECTION = Section("probe", view)
