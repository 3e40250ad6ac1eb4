"""What raw samples look like in simulation and in the field, figure by figure."""

from collections.abc import Mapping
from typing import Any

from stages.reports.inputs import InputsReport
from stages.reports.page import Answer
from stages.section import Files, Section

SHOWN = 6  # small multiples
KINDS = {"pictures": "pictures", "signals": "signals", "table": "rows of a table"}


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Draw the figures that differ most; the rest stands in a table."""
    from stages.page_view import drawn
    from stages.plots_inputs import small_multiples

    inputs = answer.inputs
    if not isinstance(inputs, InputsReport):
        return {}
    shown = [one for one in inputs.statistics if one.histogram is not None][:SHOWN]
    return {
        "kind": KINDS[inputs.kind],
        "differing": [one for one in inputs.statistics if one.differs],
        "multiples": drawn(small_multiples(shown)) if shown else None,
        "shown": shown,
    }


SECTION = Section("inputs", view)
