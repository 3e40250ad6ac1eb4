"""What the page shows, ready to be laid out: words, widths and charts, no arithmetic left."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from stages import page_top
from stages.figures import counted, percent
from stages.gate_reasons import LOSSES, SHARES
from stages.metric import Metric
from stages.page_fold import parted, told
from stages.reports.diagnose import DiagnoseReport, Finding
from stages.reports.gate import Criterion
from stages.reports.page import Answer
from stages.section import Files
from stages.sections import SECTIONS

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent / "templates"
STRENGTHS = {"strong": 3, "moderate": 2, "weak": 1}


def lay_out(answer: Answer, files: Files, *, shows_samples: bool) -> str:
    """Return the page. All strings of a case pass through the templates' escaping."""
    from stages import plots

    environment = _environment()
    diagnosis, gate = answer.diagnose, answer.gate
    headline, rest = first_sentence(diagnosis.verdict)
    held_metric = Metric(gate.metric, gate.unit)
    shared = {"answer": answer, "held_metric": held_metric}
    sections = []
    for section in SECTIONS:
        view = section.view(answer, files, shows_samples)
        if view is not None:
            template = environment.get_template(f"sections/{section.name}.html.j2")
            html = template.render(**shared, **view)
            sections.append(told(html, page_top.silent(answer, section.name)))
    shown, quiet = parted(sections)
    page = environment.get_template("report.html.j2").render(
        **shared,
        headline=headline,
        rest=rest,
        metric=Metric(diagnosis.metric, diagnosis.unit),
        metric_of=lambda name: Metric(name, diagnosis.unit),
        charts={"waterfall": drawn(plots.waterfall(diagnosis))},
        causes=[bar(found, diagnosis) for found in diagnosis.findings if not found.harmless],
        harmless=[found for found in diagnosis.findings if found.harmless],
        answers=page_top.answers(diagnosis),
        lead_sure=page_top.verdict_sure(diagnosis),
        proof=page_top.proof(diagnosis, gate),
        sections=shown,
        quiet=quiet,
        interval_level=f"{100 - 100 * gate.look.alpha:.4g}" if gate.look else "95",
        criteria=[held(criterion, held_metric) for criterion in gate.criteria],
        breaches=[check for check in answer.contract.checks if not check.passed],
    )
    return "\n".join(line.rstrip() for line in page.splitlines() if line.strip()) + "\n"


def _environment() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": code, "percent": percent, "number": number, "p": p_value}
    return environment


def drawn(chart: str) -> Markup:
    """Take a chart of ours into the page: its labels were escaped as it was drawn."""
    return Markup(chart)  # noqa: S704  see above


def p_value(p: float) -> str:
    """Write a p; a tiny one as what it lies below.

    >>> p_value(0.0312), p_value(0.0001)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004  as it is usually told


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
        "sure": page_top.confidence_of(found, diagnosis),
        "share": share,
        "width": place(cost.value) if cost else None,
        "low": place(cost.low) if cost else None,
        "high": place(cost.high) if cost else None,
    }


def held(criterion: Criterion, metric: Metric) -> dict[str, Any]:
    """Write a criterion's figure, interval and threshold in its own unit."""
    words = {True: "passed", False: "failed", None: "cannot tell"}
    write: Callable[[float], str] = {
        metric.name: metric.level,
        "agreement": percent,
        "calibration": percent,
        **dict.fromkeys(LOSSES, metric.signed_loss),
        "contract": _broken,
    }.get(criterion.name, number)
    bounds = None
    if criterion.low is not None and criterion.high is not None:
        own = Metric("agreement") if criterion.name in SHARES else metric
        bounds = f"{own.bare(criterion.low)} to {own.bare(criterion.high)}"
    limit = criterion.threshold
    said = "no threshold" if limit is None else f"{criterion.bound} {write(limit)}"
    return {
        "criterion": criterion,
        "result": words[criterion.passed],
        "state": {True: "open", False: "closed", None: "abstained"}[criterion.passed],
        "figure": number(None) if criterion.figure is None else write(criterion.figure),
        "bounds": bounds,
        "counted": counted(criterion.n, criterion.groups),
        "threshold": criterion.limit or said,
    }


def _broken(count: float) -> str:
    return f"{count:.0f} broken"
