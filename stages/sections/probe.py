"""What a few real labels buy: a curve, and the same in figures."""

from collections.abc import Mapping
from typing import Any

from stages.metric import Metric
from stages.reports.page import Answer
from stages.reports.probe import KINDS, ProbeReport
from stages.section import Files, Section


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Draw the curve where there are points."""
    from stages import plots, plots_ladder
    from stages.page_view import drawn

    probe = answer.probe
    if not isinstance(probe, ProbeReport):
        return {"few_shot": None}
    return {
        "learnt": Metric(probe.metric, probe.unit),
        "few_shot": drawn(plots.few_shot(probe)) if probe.points else None,
        "labels": _table(probe),
        "ladder": drawn(plots_ladder.ladder(probe)) if probe.ladder else None,
        "rungs": _rungs(probe),
        "kinds": KINDS,
    }


def _table(probe: ProbeReport) -> dict[str, Any]:
    """Arrange the points: a row for each number of labels, a column for each way to use them."""
    kinds = list(dict.fromkeys(point.kind for point in probe.points))
    by_place = {(point.labels, point.kind): point.level for point in probe.points}
    counts = sorted({point.labels for point in probe.points})
    rows = [(count, [by_place.get((count, kind)) for kind in kinds]) for count in counts]
    return {"kinds": [KINDS[kind] for kind in kinds], "rows": rows}


def _rungs(probe: ProbeReport) -> dict[str, Any]:
    """Arrange the ladder: a row for each kind, a column for each number of labels."""
    counts = sorted({rung.labels for rung in probe.ladder})
    by_place = {(rung.kind, rung.labels): rung for rung in probe.ladder}
    kinds = list(dict.fromkeys(rung.kind for rung in probe.ladder))
    rows = []
    for kind in kinds:
        own = [by_place.get((kind, count)) for count in counts]
        most = next((rung for rung in reversed(own) if rung is not None), None)
        rows.append((KINDS[kind], own, most))
    return {"counts": counts, "rows": rows}


SECTION = Section("probe", view)
