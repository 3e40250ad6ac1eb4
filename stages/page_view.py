"""What the page shows, ready to be laid out: words, widths and charts, no arithmetic left."""

import base64
import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from stages.figures import counted, percent
from stages.metric import Metric
from stages.reports.diagnose import DiagnoseReport, Finding
from stages.reports.features import FeaturesReport
from stages.reports.gate import Criterion
from stages.reports.page import Answer
from stages.reports.probe import KINDS, ProbeReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stages.answers import Rows

TEMPLATES = Path(__file__).parent / "templates"
STRENGTHS = {"strong": 3, "moderate": 2, "weak": 1}


def lay_out(answer: Answer, charts: Mapping[str, str], worst: bytes | None) -> str:
    """Return the page. All strings of a case pass through the template's escaping."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "code": code,
        "percent": percent,
        "number": number,
    }
    diagnosis = answer.diagnose
    headline, rest = first_sentence(diagnosis.verdict)
    gate, probe = answer.gate, answer.probe
    held_metric = Metric(gate.metric, gate.unit)
    page = environment.get_template("report.html.j2").render(
        answer=answer,
        headline=headline,
        rest=f"{rest} {gate.needs}".strip(),
        metric=Metric(diagnosis.metric, diagnosis.unit),
        metric_of=lambda name: Metric(name, diagnosis.unit),
        learnt=Metric(probe.metric, probe.unit) if isinstance(probe, ProbeReport) else None,
        held_metric=held_metric,
        charts={name: Markup(chart) for name, chart in charts.items()},  # noqa: S704  drawn by us, escaped there
        causes=[bar(found, diagnosis) for found in diagnosis.findings if not found.harmless],
        harmless=[found for found in diagnosis.findings if found.harmless],
        criteria=[held(criterion, held_metric) for criterion in gate.criteria],
        breaches=[check for check in answer.contract.checks if not check.passed],
        labels=few_shot_table(probe) if isinstance(probe, ProbeReport) else None,
        picture=base64.b64encode(worst).decode() if worst else None,
    )
    return "\n".join(line.rstrip() for line in page.splitlines() if line.strip()) + "\n"


def code(text: str) -> Markup:
    """Escape a sentence, set what stands between backticks as code, keep figure and unit together.

    >>> code("step `<b>` costs 3 %")
    Markup('step <code>&lt;b&gt;</code> costs 3&nbsp;%')
    """
    marked = re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text)))
    tied = re.sub(
        r"(?<=\d) (?=%|points)|(?<=%) (?=CI)|(?<=\b[np]) (?==|&lt;)|(?<=\b[np] =) |(?<=\bp &lt;) ",
        "&nbsp;",
        marked,
    )
    return Markup(tied)  # noqa: S704  escaped before


def number(figure: float | None) -> str:
    """Write a figure of any size in four digits; a dash where there is none."""
    return "–" if figure is None else f"{figure:.4g}"  # noqa: RUF001  a true dash


def first_sentence(text: str) -> tuple[str, str]:
    """Cut off the headline.

    >>> first_sentence("It broke. Mend it. Now.")
    ('It broke.', 'Mend it. Now.')
    """
    head, dot, rest = text.partition(". ")
    return head + dot.strip(), rest


def bar(found: Finding, diagnosis: DiagnoseReport) -> dict[str, Any]:
    """Place a cause's cost on a scale that all causes share: 0 to the gap, or to what is wider."""
    costs = [other.explains for other in diagnosis.findings if other.explains]
    whole = max([diagnosis.gap.value if diagnosis.gap else 0, *(cost.high for cost in costs), 1e-9])

    def place(value: float) -> float:
        return round(100 * min(max(value / whole, 0.0), 1.0), 2)

    cost = found.explains
    share = None
    if found.undecided:
        share = "undecided"
    elif cost and diagnosis.gap and diagnosis.gap.low > 0:
        share = f"{100 * cost.value / diagnosis.gap.value:.0f} % of the gap"
    return {
        "found": found,
        "dots": STRENGTHS[found.strength],
        "share": share,
        "width": place(cost.value) if cost else None,
        "low": place(cost.low) if cost else None,
        "high": place(cost.high) if cost else None,
    }


def few_shot_table(probe: ProbeReport) -> dict[str, Any]:
    """Arrange the points: a row for each number of labels, a column for each way to use them."""
    kinds = list(dict.fromkeys(point.kind for point in probe.points))
    by_place = {(point.labels, point.kind): point.level for point in probe.points}
    counts = sorted({point.labels for point in probe.points})
    rows = [(count, [by_place.get((count, kind)) for kind in kinds]) for count in counts]
    return {"kinds": [KINDS[kind] for kind in kinds], "rows": rows}


def held(criterion: Criterion, metric: Metric) -> dict[str, Any]:
    """Write a criterion's figure, interval and threshold in its own unit."""
    words = {True: "passed", False: "failed", None: "cannot tell"}
    write: Callable[[float], str] = {
        metric.name: metric.level,
        "agreement": percent,
        "drop": metric.signed_loss,
        "contract": _broken,
    }.get(criterion.name, number)
    bounds = None
    if criterion.low is not None and criterion.high is not None:
        own = Metric("agreement") if criterion.name == "agreement" else metric
        bounds = f"{own.bare(criterion.low)} to {own.bare(criterion.high)}"
    limit = criterion.threshold
    return {
        "criterion": criterion,
        "result": words[criterion.passed],
        "state": {True: "open", False: "closed", None: "abstained"}[criterion.passed],
        "figure": number(None) if criterion.figure is None else write(criterion.figure),
        "bounds": bounds,
        "counted": counted(criterion.n, criterion.groups),
        "threshold": "no threshold" if limit is None else f"{criterion.bound} {write(limit)}",
    }


def _broken(count: float) -> str:
    return f"{count:.0f} broken"


def draw(
    answer: Answer, confusions: "Mapping[str, NDArray[np.int64]]", projection: Path
) -> dict[str, str]:
    """Draw every chart that the answer has figures for."""
    from stages import plots

    charts = {"waterfall": plots.waterfall(answer.diagnose)}
    if isinstance(answer.features, FeaturesReport) and answer.features.layers:
        charts["layers"] = plots.layers(answer.features)
        points = _projected(projection)
        if any(len(places) for places in points.values()):
            charts["scatter"] = plots.scatter(points, answer.features)
    if isinstance(answer.probe, ProbeReport) and answer.probe.points:
        charts["few_shot"] = plots.few_shot(answer.probe)
    for side, counts in confusions.items():
        right = percent(float(counts.trace() / max(1, counts.sum())))
        says = f"Confusion of the {side} on real rows: {right} on the diagonal."
        charts[f"confusion_{side}"] = plots.confusion(f"confusion-{side}", says, counts)
    return charts


def confusion(rows: "Rows", given: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Count (classes, classes): truth by answer; an answer that is no class gets its own column."""
    import numpy as np

    size = int(max(rows.labels.max(), given.max())) + 1
    counts: NDArray[np.int64] = np.zeros((size, size), np.int64)
    np.add.at(counts, (rows.labels, given), 1)
    return counts


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
