"""Where simulation and reality part in the network, layer by layer."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.reports.features import PROJECTION, FeaturesReport
from stages.reports.page import Answer
from stages.section import Files, Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Draw the layers, and the projection where its points were written."""
    from stages import plots
    from stages.page_view import drawn

    features = answer.features
    if not isinstance(features, FeaturesReport) or not features.layers:
        return {"layers": None, "scatter": None}
    points = _projected(files["projection"])
    some = any(len(places) for places in points.values())
    return {
        "layers": drawn(plots.layers(features)),
        "scatter": drawn(plots.scatter(points, features)) if some else None,
    }


def _projected(path: Path) -> "dict[str, NDArray[np.float64]]":
    import numpy as np

    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        name: np.array(
            [[float(row["x"]), float(row["y"])] for row in rows if row["domain"] == name],
            np.float64,
        ).reshape(-1, 2)
        for name in ("sim", "real")
    }


SECTION = Section("features", view, {"projection": PROJECTION})
