"""What changed since it last worked; nothing where the case does not state what worked."""

from collections.abc import Mapping
from typing import Any

from stages.metric import Metric
from stages.reports.page import Answer
from stages.reports.since import SinceReport
from stages.section import Files, Section


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any] | None:  # noqa: ARG001  every section has them
    """Tell what changed from what was always so."""
    since = answer.since
    if not isinstance(since, SinceReport):
        return None
    metric = Metric(since.metric, answer.diagnose.unit)
    return {
        "since": since,
        "measured": metric,
        "likely": [one for one in since.changes if one.weight != "unlikely"],
        "others": [one for one in since.changes if one.weight == "unlikely"],
    }


SECTION = Section("since", view)
