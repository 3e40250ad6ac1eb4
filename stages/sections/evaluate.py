"""How good and how sure each side is; who is mistaken for whom, or by how much numbers miss."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.figures import percent, tenths
from stages.metric import Metric
from stages.reports.evaluate import PREDICTED, Evaluated, EvaluateReport
from stages.reports.page import Answer
from stages.section import Files, Section

SIDES = {"reference": "Reference", "candidate": "Candidate", "last_good": "What worked"}
WHERE = {"sim": "simulation", "real": "real"}
SHOWN_GROUPS = 12


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Arrange the situations, and draw those of the candidate, or else of the reference."""
    found = answer.evaluate
    metric = Metric(found.metric, found.unit)
    return {
        "evaluation": found,
        "measured": metric,
        "named": lambda one: f"{SIDES[one.side]}, {WHERE[one.where]}",
        "sides": SIDES,
        "tenths": tenths,
        "measured_on_real": {it.side: it.metric for it in found.evaluated if it.where == "real"},
        "labelled": any(one.metric for one in found.evaluated if one.where == "real"),
        "charts": _classes(found) if metric.task == "classification" else _numbers(found, files),
        "folded": [one for one in found.evaluated if one.groups or one.classes or one.residuals],
    }


def _of(found: EvaluateReport, side: str, where: str) -> Evaluated | None:
    return next((one for one in found.evaluated if (one.side, one.where) == (side, where)), None)


def _classes(found: EvaluateReport) -> dict[str, Any]:
    import numpy as np

    from stages import plots, plots_evaluate
    from stages.page_view import drawn

    charts: dict[str, Any] = {}
    for side in ("candidate", "reference"):
        curves = {
            where: one
            for where in WHERE
            if (one := _of(found, side, where)) is not None and one.calibration
        }
        if curves and "reliability" not in charts:
            charts["side"] = side
            charts["reliability"] = drawn(plots_evaluate.reliability(curves))
    kept = {one_name(one): one.sweep for one in found.evaluated if len(one.sweep) > 1}
    if kept:
        charts["sweep"] = drawn(plots_evaluate.sweep(kept))
    operating = _of(found, charts.get("side", "candidate"), "real")
    if operating is not None and operating.operating:
        charts["side"] = operating.side
        charts["operating"] = drawn(plots_evaluate.operating(operating.operating))
    for told in found.unlabelled:
        if told.histogram_real and told.side == charts.get("side", told.side):
            charts["side"] = told.side
            charts["histogram"] = drawn(plots_evaluate.confidence(told))
    for side in ("reference", "candidate"):
        one = _of(found, side, "real")
        if one is not None and one.confusion and one.metric:
            says = f"Confusion of the {side} on real rows: {percent(one.metric.value)} right."
            counts = np.array(one.confusion, np.int64)
            charts[f"confusion_{side}"] = drawn(plots.confusion(f"confusion-{side}", says, counts))
            charts[f"confusion_{side}_n"] = one.n
    return charts | _groups(found)


def one_name(one: Evaluated) -> str:
    """Name a situation as legends do."""
    return f"{SIDES[one.side].lower()}, {WHERE[one.where]}"


def _groups(found: EvaluateReport) -> dict[str, Any]:
    from stages import plots_evaluate
    from stages.page_view import drawn

    one = _of(found, "candidate", "real")
    if one is None or not one.groups:
        one = _of(found, "reference", "real")
    if one is None or len(one.groups) < 2:  # noqa: PLR2004  one group is no comparison
        return {}
    drawing = plots_evaluate.groups(one.groups[:SHOWN_GROUPS], one.metric)
    return {"groups": drawn(drawing), "groups_of": one, "num_groups": len(one.groups)}


def _numbers(found: EvaluateReport, files: Files) -> dict[str, Any]:
    from stages import plots_evaluate
    from stages.page_view import drawn

    rows = _predicted(files["predicted"])
    charts: dict[str, Any] = {}
    for side in ("candidate", "reference"):
        points = {where: rows.get((side, where), []) for where in WHERE}
        if any(points.values()) and "predicted" not in charts:
            charts["side"] = side
            charts["predicted"] = drawn(plots_evaluate.predicted(points, found.unit))
            charts["residuals"] = drawn(plots_evaluate.misses(points, found.unit))
    return charts


def _predicted(path: Path) -> dict[tuple[str, str], list[tuple[float, float]]]:
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            pair = (float(row["true"]), float(row["predicted"]))
            rows.setdefault((row["side"], row["where"]), []).append(pair)
    return rows


SECTION = Section("evaluate", view, {"predicted": PREDICTED})
