"""A figure held to its threshold: passed, failed, or why nobody can tell and what would help."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.criteria import at_least, at_most, drop
from assay.power import rows_to_decide
from assay.scores import level, spread
from stages.answers import Rows, Side, answered, rows_of
from stages.labels_needed import at_least_rows, to_reach, to_see, would
from stages.metric import Metric
from stages.reports.diagnose import DiagnoseReport
from stages.reports.gate import Criterion
from stages.reports.predict import PredictReport

if TYPE_CHECKING:
    from assay.intervals import Interval
    from assay.power import Needed
    from assay.scores import Scores

Validation = tuple["Interval", "Scores", Rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """How often is drawn again, and from which seed."""

    num_draws: int
    seed: int
    confidence: float = 0.95  # of the intervals

    def level(self, metric: Metric, found: "Scores", rows: Rows) -> "Interval":
        """Bound a mean score."""
        draws = {"num_draws": self.num_draws, "seed": self.seed}
        return level(metric.name, found, rows.groups, **draws, confidence=self.confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The candidate on rows that the diagnosis did not see, and the reference on validation."""

    metric: Metric
    validation: Validation | None  # None: it has no labels
    proved: "Interval | None"  # None: no such row has a label, or no answer is known
    real: Rows  # all of them
    agreed: "Interval | None"
    unrecorded: str  # why nobody knows the candidate's answers; "" where they are known
    min_rows: int

    def level(self, threshold: float | None, param: str) -> Criterion:
        """Hold the metric itself."""
        metric, word = self.metric, "most" if self.metric.less_is_better else "least"
        shown = self.proved and metric.shown(self.proved)
        passed, more = None, ""
        without = f"No threshold is stated: give gate.{param} in case.yaml's params."
        if threshold is not None:
            bound = -threshold if metric.less_is_better else threshold
            passed = at_least(self.proved, bound, self.min_rows) if self.proved else None
            reached = to_reach(bound, metric, self.validation, self.real)
            question = f"show at {word} {metric.level(threshold)}"
            without = self._unlabelled(reached, question)
            more = would(reached, question, len(self.real))
            if shown:
                needed = at_least_rows(rows_to_decide(shown, threshold), self.min_rows)
                more = would(needed, "decide", shown.n, " that prove")
        return Criterion(
            name=metric.name,
            says=f"The candidate's {metric.word} on held-out real rows is at {word} the threshold.",
            **self._judged(shown, threshold, passed, without, more),
            bound="at most" if metric.less_is_better else "at least",
        )

    def drop(self, share: float) -> Criterion:
        """Hold what is lost from validation to the field."""
        validation, metric = self.validation, self.metric
        verb = "rises" if metric.less_is_better else "falls"
        lost, most, without, more = None, share, "Validation has no labels.", ""
        if validation is not None:
            most *= spread(metric.name, validation[2].labels)
            lost = self.proved and drop(validation[0], self.proved)
            seen = to_see(most, metric, validation, self.real) if most > 0 else None
            # The verdict of `diagnose` asks the same, and by the same function.
            question = f"show a loss of {metric.loss(most)}"
            without = self._unlabelled(seen, question)
            more = would(seen, question, len(self.real))
        passed = at_most(lost, most, self.min_rows) if lost else None
        return Criterion(
            name="drop",
            says=f"From validation to the field the {metric.word} {verb} by at most the threshold.",
            **self._judged(lost, most, passed, without, more),
        )

    def agreement(self, least: float, within: float) -> Criterion:
        """Hold the share of real rows on which both sides as a whole say the same."""
        what = "label" if self.metric.is_share else f"answer, within {within:.3g},"
        passed = at_least(self.agreed, least, self.min_rows) if self.agreed else None
        needed = rows_to_decide(self.agreed, least) if self.agreed else None
        more = would(
            at_least_rows(needed, self.min_rows),
            "decide, with labels or without",
            len(self.real),
            "",
        )
        return Criterion(
            name="agreement",
            says=f"As a whole, the candidate gives the reference's {what} on real rows.",
            **self._judged(self.agreed, least, passed, self.unrecorded, more),
            bound="at least",
        )

    def _judged(
        self,
        found: "Interval | None",
        threshold: float | None,
        passed: bool | None,
        without: str,
        more: str,
    ) -> dict[str, Any]:
        says_more = more if found is not None or not self.unrecorded else ""
        judged = fill_in(
            found, threshold, passed, without=without, more=more, min_rows=self.min_rows
        )
        return judged | {"more": says_more if judged["more"] or found is None else ""}

    def _unlabelled(self, needed: "Needed | None", question: str) -> str:
        """Say what is missing, and how many labels would show it."""
        if self.unrecorded:
            return self.unrecorded
        text = "No row of this role has a label."
        if needed is None or self.validation is None:
            return text
        stands = self.metric.level(self.metric.shown(self.validation[0]).value)
        more = would(needed, question, len(self.real))
        return f"{text} If the field is as good as validation ({stands}): {more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What the figures are read from."""

    roles: Path
    metric: Metric
    reference: Side
    candidate: Side
    within: float  # numbers this near agree
    answered: PredictReport  # by the candidate
    unrecorded: str  # why nobody knows its answers; "" where they are known

    def hold(self, bootstrap: Bootstrap, min_rows: int) -> Held:
        """Measure what is held to thresholds."""
        metric, proved = self.metric, None
        fewest = 1 if metric.is_share else 2  # one number has no variance
        rows = self._real("prove")
        if len(rows) >= fewest and not self.unrecorded:
            found = self.candidate.scores("real-candidate", rows, metric)
            proved = bootstrap.level(metric, found, rows)
        sim, validation = rows_of(self.roles, "sim", "validation", task=metric.task), None
        if len(sim) >= fewest:
            found = self.reference.scores("sim", sim, metric)
            validation = (bootstrap.level(metric, found, sim), found, sim)
        real = self._real(None)
        return Held(
            metric=metric,
            validation=validation,
            proved=proved,
            real=real,
            agreed=self._agreed(real, bootstrap),
            unrecorded=self.unrecorded,
            min_rows=min_rows,
        )

    def proving(self) -> Rows:
        """Return the labelled rows that prove, of those that the candidate answered."""
        return self._real("prove")

    def _real(self, role: str | None) -> Rows:
        labelled = role is not None
        rows = rows_of(self.roles, "real", role, labelled=labelled, task=self.metric.task)
        return answered(rows, self.candidate, self.answered, "real-candidate")

    def _agreed(self, real: Rows, bootstrap: Bootstrap) -> "Interval | None":
        if self.unrecorded:
            return None
        metric = Metric("agreement")
        rows = replace(real, labels=self.reference.must("real-reference", real))
        same = self.candidate.scores("real-candidate", rows, metric, self.within)
        return bootstrap.level(metric, same, rows)


def fill_in(
    found: "Interval | None",
    threshold: float | None,
    passed: bool | None,
    *,
    without: str = "",
    more: str,
    min_rows: int,
) -> dict[str, Any]:
    """Fill in a criterion's figures and say why; `without` says what is missing where none is.

    `more` says what labels would decide; it is told where the interval straddles.
    """
    straddles = False
    if found is None or threshold is None:
        why = without
    elif passed is not None:
        why = "The whole interval keeps it." if passed else "The whole interval misses it."
    elif found.low <= threshold <= found.high:
        straddles = True
        why = f"The interval straddles the threshold. {more}".strip()
    else:
        why = f"The whole interval keeps it, but {found.n} rows are too few to pass: "
        why += f"{min_rows} are asked for."
    return {
        "figure": found.value if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "n": found.n if found else 0,
        "groups": found.groups if found else None,
        "threshold": threshold,
        "passed": passed,
        "why": why,
        "more": more if straddles else "",
    }


def proof_of_no_harm(differing: set[str], diagnosis: DiagnoseReport) -> str:
    """Say what proves that all that differs is harmless; nothing where one difference is not.

    Each step was exchanged by itself, and all of them together: two harmless ones may add up.
    """
    found = [one for one in diagnosis.findings if one.component == "preprocessing"]
    harmless = {one.step for one in found if one.harmless}
    whole = next((p.loss for p in diagnosis.parts if p.component == "preprocessing"), None)
    shown = len(found) == len(harmless) and differing == harmless != set()
    if not shown or whole is None:
        return ""
    # n rows without a single loss are compatible with a share of 3 / n (Hanley 1983).
    metric, rows = Metric(diagnosis.metric, diagnosis.unit), 3 / whole.n
    most = max(whole.high, rows) if metric.is_share else whole.high
    if most > diagnosis.margin or rows > diagnosis.margin_share:
        return ""
    what = "" if diagnosis.metric == "r2" else f" of {diagnosis.measured_as}"
    return (
        f"The diagnosis proved every difference harmless: all of the candidate's preprocessing "
        f"costs at most {metric.loss(most)}{what} "
        f"({metric.interval(whole)}), within the margin of {metric.loss(diagnosis.margin)}."
    )
