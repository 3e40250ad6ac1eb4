"""The reference on validation: what was reported of it, and what validation owes to training."""

from collections.abc import Mapping
from typing import Any

from stages.metric import Metric
from stages.reports.page import Answer
from stages.reports.replay import Leakage, ReplayReport
from stages.section import Files, Section
from stages.stage import Estimate


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Write the figures side by side."""
    found = answer.replay
    if not isinstance(found, ReplayReport):
        return {"replay": found}
    # Without labels in the field the verdict is told in agreement, validation is not.
    metric = Metric(answer.evaluate.metric, answer.evaluate.unit)
    leakage = found.leakage
    return {
        "replay": found,
        "says": _says(found),
        "reported": None if found.reported is None else metric.level(found.reported),
        "measured": _level(metric, leakage.all_rows),
        "without": _level(metric, leakage.without),
        "shared": _shared(leakage),
    }


def _says(found: ReplayReport) -> str:
    told = {
        True: "The reference reaches on validation what was reported of it.",
        False: "The reference does not reach on validation what was reported of it.",
        None: "",
    }[found.reached]
    leakage = found.leakage
    if leakage.why_not is not None:
        return f"{told} Training and validation were not compared. {leakage.why_not}".strip()
    if leakage.without is not None:
        return f"{told} Validation holds rows of training.".strip()
    return f"{told} No row of validation stands in training, beyond what chance explains.".strip()


def _level(metric: Metric, found: Estimate | None) -> str | None:
    return None if found is None else f"{metric.level(found.value)} ({metric.interval(found)})"


def _shared(leakage: Leakage) -> list[tuple[str, str]]:
    if leakage.why_not is not None:
        return []
    of = f"of {leakage.num_validation}"
    groups = f"{leakage.num_shared_groups}"
    if leakage.num_shared_groups:
        groups += f", with {leakage.num_in_shared_groups} {of} rows"
    return [
        ("Rows that are the same", f"{leakage.num_exact} {of}"),
        ("Rows that are nearly so", leakage.why_not_near or f"{leakage.num_near} {of}"),
        ("Groups of both", groups),
    ]


SECTION = Section("replay", view)
