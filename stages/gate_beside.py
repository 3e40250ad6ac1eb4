"""What the gate holds beside level, drop and agreement: nobody is to be worse off than now.

Each criterion stands only where it applies: a case without `last_good` has nothing that worked, a
recorded candidate no answers to simulation, and a calibration error is held where it is stated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration import calibrate, probabilities
from assay.criteria import at_most
from assay.gains import group_losses, paired_gain
from assay.multiplicity import holm
from assay.power import rows_to_decide
from assay.scores import spread
from stages.answers import Rows, Side
from stages.held_figures import fill_in
from stages.labels_needed import at_least_rows, would
from stages.metric import Metric
from stages.reports.gate import Criterion

if TYPE_CHECKING:
    from assay.scores import Scores

Answers = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Answers to the rows that prove and to validation, and the bounds that they are held to."""

    metric: Metric
    prove: Rows
    sim: Rows
    candidate: Side
    reference: Side
    last_good: Side | None
    unrecorded: bool  # nobody knows the candidate's answers
    margin: float  # as a share, see `diagnose`
    min_rows: int
    min_group_rows: int
    alpha: float
    max_calibration_error: float | None
    num_draws: int
    seed: int
    private: bool = False  # groups go by number: they may be people

    def criteria(self) -> Iterator[Criterion]:
        """Hold what applies."""
        if self.unrecorded:
            return
        if self.last_good is not None and len(self.prove) > 1:
            yield from self._what_worked(self.last_good)
        if len(self.sim) > 1:
            yield from self._simulation()
        if len(self.prove) > 1:
            yield from self._groups()
        if self.max_calibration_error is not None and self.metric.is_share:
            yield self._calibration(self.max_calibration_error)

    def _what_worked(self, last_good: Side) -> Iterator[Criterion]:
        before = last_good.labels("real-last_good", self.prove)
        if before is None:
            return
        after = self.candidate.labels("real-candidate", self.prove)
        made = self._compared(before, after, self.prove, " that prove")
        if made["high"] is not None and made["high"] < 0:
            made["why"] = "It is better than what worked: the whole interval."
        says = "On the same held-out rows the candidate loses at most the margin to what worked."
        yield Criterion(name="what worked", says=says, **made)

    def _simulation(self) -> Iterator[Criterion]:
        before, after = (side.labels("sim", self.sim) for side in (self.reference, self.candidate))
        if before is None or after is None:
            return
        says = "On validation the candidate as a whole loses at most the margin to the reference."
        yield Criterion(
            name="simulation",
            says=says,
            **self._compared(before, after, self.sim, " of validation"),
        )

    def _compared(
        self, before: Answers, after: Answers | None, rows: Rows, which: str
    ) -> dict[str, Any]:
        """Bound the paired loss and hold it to the margin; equal answers lose nothing, in fact."""
        ours, theirs = self._scores(before, rows), self._scores(after, rows)
        found = paired_gain(
            theirs,
            ours,
            rows.groups,
            level=1 - self.alpha,
            is_share=self.metric.is_share,
        ).interval
        margin = self._margin(rows)
        equal = after is not None and np.array_equal(before, after)
        passed = True if equal else at_most(found, margin, self.min_rows)
        needed = at_least_rows(rows_to_decide(found, margin), self.min_rows)
        more = would(needed, "decide", found.n, which)
        made = fill_in(found, margin, passed, more=more, min_rows=self.min_rows)
        return made | ({"why": "Every answer is the same."} if equal else {})

    def _groups(self) -> Iterator[Criterion]:
        """No group loses more than the margin to what serves now; Holm over groups."""
        names = np.unique(self.prove.groups)
        if len(names) in (1, len(self.prove)):
            return
        side, which = self.reference, "real-reference"
        if self.last_good is not None:
            side, which = self.last_good, "real-last_good"
        given = side.labels(which, self.prove)
        after = self.candidate.labels("real-candidate", self.prove)
        if given is None:
            return
        before, now = (self._scores(one, self.prove) for one in (given, after))
        margin = self._margin(self.prove)
        tested, few = group_losses(
            before, now, self.prove.groups, margin=margin, min_rows=self.min_group_rows
        )
        if not tested:
            return
        harmed = [
            one.group
            for one, p in zip(tested, holm([one.p_value for one in tested]), strict=True)
            if p <= self.alpha
        ]
        why = f"Of {len(tested)} groups none is shown to lose more."
        if harmed:
            known = {str(name): f"group {at}" for at, name in enumerate(names.tolist(), 1)}
            shown = ", ".join(known[name] if self.private else f"`{name}`" for name in harmed[:5])
            more = f" and {len(harmed) - 5} more" if len(harmed) > 5 else ""  # noqa: PLR2004
            why = f"{len(harmed)} of {len(tested)} groups lose more: {shown}{more}."
        if few:
            why += f" {len(few)} groups have fewer than {self.min_group_rows} rows: not told."
        whom = "what worked" if self.last_good is not None else "the reference"
        yield Criterion(
            name="groups",
            says=f"No group of held-out rows is shown to lose more than the margin to {whom}.",
            figure=max(one.loss for one in tested),
            low=None,
            high=None,
            threshold=margin,
            n=sum(one.n for one in tested),
            groups=len(tested),
            passed=not harmed,
            why=why,
        )

    def _calibration(self, most: float) -> Criterion:
        says = "The confidence on held-out real rows is off by at most the threshold."
        raw = self.candidate.raw("real-candidate", self.prove) if len(self.prove) else None
        labels = self.candidate.labels("real-candidate", self.prove) if len(self.prove) else None
        found, without = None, "The confidence on held-out rows is not known."
        if raw is not None and labels is not None and np.isfinite(raw).all():
            sure = probabilities(np.asarray(raw))[0].max(axis=1)
            found = calibrate(
                sure,
                labels == self.prove.labels,
                self.prove.groups,
                num_draws=self.num_draws,
                seed=self.seed,
            ).error
        passed = at_most(found, most, self.min_rows) if found else None
        needed = at_least_rows(rows_to_decide(found, most), self.min_rows) if found else None
        more = would(needed, "decide", found.n, " that prove") if found else ""
        made = fill_in(found, most, passed, without=without, more=more, min_rows=self.min_rows)
        return Criterion(name="calibration", says=says, **made)

    def _scores(self, answers: Answers | None, rows: Rows) -> "Scores":
        from assay.scores import scores

        return scores(self.metric.name, answers, rows.labels)

    def _margin(self, rows: Rows) -> float:
        return self.margin * spread(self.metric.name, rows.labels)
