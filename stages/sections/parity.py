"""The sides' steps one against the other, and the samples that differ most."""

import base64
from collections.abc import Mapping
from typing import Any

from stages.reports.page import Answer
from stages.reports.parity import WORST, ParityReport
from stages.section import Files, Section


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:
    """Embed the picture where there is a difference to be seen, and samples may be shown."""
    broken = isinstance(answer.parity, ParityReport) and not answer.parity.passed
    if not broken or not shows_samples:
        return {"picture": None}
    return {"picture": base64.b64encode(files["worst"].read_bytes()).decode()}


SECTION = Section("parity", view, {"worst": WORST})
