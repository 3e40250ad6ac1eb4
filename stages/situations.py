"""Who was right where: the scores of each situation that an exchange of parts makes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.scores import Scores, spread
from assay.shares import CELLS, CROSSED, MODEL, PREPROCESSING, Answers, Cell
from stages.answers import (
    TENSORS,
    Differ,
    Rows,
    Side,
    alike,
    answered,
    rows_of,
    sides_differ,
    why_unknown,
)
from stages.metric import Metric
from stages.reports.predict import PredictReport
from stages.seen_rows import seen_rows

OWN = {"reference": "real-reference", "candidate": "real-candidate", "last_good": "real-last_good"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One side's answers and what its report says of them."""

    name: str
    side: Side
    report: PredictReport
    rule: Side | None = None  # what its postprocessing makes of the other side's raw outputs

    def knows(self, set_name: str) -> bool:
        """Tell whether its answers are known, be it that there are none, as to an error."""
        return why_unknown(self.report, set_name) is None

    def scores(self, set_name: str, rows: Rows, metric: Metric, within: float) -> Scores | None:
        """Score its answers; None where they are not known."""
        if not self.knows(set_name):
            return None
        return self.side.scores(set_name, rows, metric, within)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situations:
    """All sides over the same real rows; what is right the labels say, or else the reference."""

    metric: Metric  # of the real rows: the case's, or agreement
    own: Metric  # the case's
    sim: Rows  # with labels
    real: Rows
    within: float  # numbers this near agree
    reference: Predicted
    candidate: Predicted
    last_good: Predicted | None
    seen: Rows  # real rows but those that prove, labelled or not
    field: Rows  # all real rows that the candidate answered, whatever their role

    @property
    def labelled(self) -> bool:
        """Whether labels say what is right on real rows."""
        return self.metric == self.own

    @property
    def spread(self) -> float:
        """What a loss of 1 means; see `assay.scores.spread`."""
        return 1.0 if self.metric.is_share else self.own_spread

    @property
    def own_spread(self) -> float:
        """The same for the case's own metric; 1 where no label tells."""
        rows = next((rows for rows in (self.sim, self.real) if len(rows)), None)
        return 1.0 if rows is None else spread(self.own.name, rows.labels)

    def deviations(self) -> tuple[float, float] | None:
        """Return the targets' standard deviations, by which R2 judges errors."""
        if self.metric.name != "r2" or not len(self.sim):
            return None
        return float(np.std(self.sim.labels)), float(np.std(self.real.labels))

    def on_sim(self) -> Scores | None:
        """Score the reference on validation in the case's own metric."""
        known = len(self.sim) >= _fewest(self.own)
        return self.reference.scores("sim", self.sim, self.own, 0.0) if known else None

    def answers(self, keys: Mapping[str, str]) -> Answers:
        """Score all situations.

        Args:
            keys: of the single steps that were exchanged, with the set that was predicted of each.
        """
        cells = {cell: self._cell(cell) for cell in CELLS}
        return Answers(
            metric=self.metric.name,
            spread=self.spread,
            sim=self.on_sim() if self.labelled else None,
            on_sim=self._both_on_sim(),
            real={cell: found for cell, found in cells.items() if found is not None},
            swaps={key: self._real(self.reference, name) for key, name in keys.items()},
            crossed=self._crossed(),
            last_good=self._last_good(),
            alike=self._alike(keys) if self.labelled else {},
            alike_groups=self.seen.groups,
            sim_groups=self.sim.groups,
            real_groups=self.real.groups,
        )

    def _alike(self, keys: Mapping[str, str]) -> dict[str, Scores]:
        """Score where one part alone keeps the reference's answer, with labels or without."""
        if not len(self.seen):
            return {}
        rows = replace(self.seen, labels=self.reference.side.must("real-reference", self.seen))
        same, within = Metric("agreement"), self.within
        found = {
            key: self.reference.side.scores(name, rows, same, within) for key, name in keys.items()
        }
        model = self.candidate.scores("real-reference", rows, same, within)
        return found if model is None else found | {MODEL: model}

    def agreement(self) -> Scores | None:
        """Score both models' agreement on the same tensors; None where one was not asked."""
        rows = replace(self.real, labels=self.reference.side.must("real-reference", self.real))
        return self.candidate.scores("real-reference", rows, Metric("agreement"), self.within)

    def differ(self, tolerance: float) -> Differ:
        """Tell whether the models differ on the same tensors, or else the sides as a whole."""
        both = (self.reference, self.candidate)
        shared = [name for name in TENSORS if all(one.knows(name) for one in both)]
        return sides_differ(self.reference.side, self.candidate.side, shared, self.real, tolerance)

    def _cell(self, cell: frozenset[str]) -> Scores | None:
        asked = self.candidate if MODEL in cell else self.reference
        name = "real-candidate" if PREPROCESSING in cell else "real-reference"
        return asked.scores(name, self.real, self.metric, self.within)

    def _crossed(self) -> dict[Cell, Scores]:
        """Score each side's model under the other side's postprocessing; nothing if one is lacking.

        A model that could not answer gives its rule nothing to change: it is wrong either way.
        """
        found = {}
        for cell in CROSSED:
            preprocessing, model, _ = cell
            asked, other = self.candidate, self.reference
            asked, other = (asked, other) if model else (other, asked)
            name = "real-candidate" if preprocessing else "real-reference"
            side = asked.side if name in asked.report.errors else other.rule
            if side is None or not asked.knows(name):
                return {}
            if side is other.rule and side.labels(name, self.real) is None:
                return {}
            found[cell] = side.scores(name, self.real, self.metric, self.within)
        return found

    def rules_differ(self, tolerance: float) -> bool | None:
        """Tell whether the sides' postprocessing differ on the same raw outputs; None: unknown."""
        said = []
        for asked, other in (
            (self.reference, self.candidate),
            (self.candidate, self.reference),
        ):
            for name in TENSORS:
                theirs = other.rule and other.rule.labels(name, self.real)
                ours = asked.side.labels(name, self.real)
                if theirs is not None and ours is not None:
                    said.append(not alike(ours, theirs, tolerance))
        return any(said) if said else None

    def _real(self, asked: Predicted, name: str) -> Scores:
        return asked.side.scores(name, self.real, self.metric, self.within)

    def _last_good(self) -> Scores | None:
        if self.last_good is None:
            return None
        return self.last_good.scores(OWN["last_good"], self.real, self.metric, self.within)

    def _both_on_sim(self) -> tuple[Scores, Scores] | None:
        if not self.candidate.knows("sim") or "sim" in self.candidate.report.errors:
            return None
        rows = self.sim
        if len(rows) < _fewest(self.own):
            return None
        if not self.labelled:
            rows = replace(rows, labels=self.reference.side.must("sim", rows))
        ours, theirs = (
            asked.side.scores("sim", rows, self.metric, self.within)
            for asked in (self.reference, self.candidate)
        )
        return ours, theirs


def situations(
    roles: Path, own: Metric, sides: Mapping[str, Predicted], tolerance: float
) -> Situations:
    """Gather the rows of role diagnose; all real rows, and agreement, where those have no label.

    Args:
        roles: of the rows.
        own: the case's metric.
        sides: reference, candidate and, where there is one, last_good.
        tolerance: of an agreement between numbers, in standard deviations of the targets.
    """
    sim = rows_of(roles, "sim", "validation", task=own.task)
    real = rows_of(roles, "real", "diagnose", task=own.task)
    reference = sides["reference"]
    metric = own
    field = rows_of(roles, "real", None, labelled=False, task=own.task)
    field = _answered(field, {"candidate": sides["candidate"]})
    real = _answered(real, sides)
    if len(real) < _fewest(own):
        real = _answered(rows_of(roles, "real", None, labelled=False, task=own.task), sides)
        real = replace(real, labels=reference.side.must("real-reference", real))
        metric = Metric("agreement")
    return Situations(
        metric=metric,
        own=own,
        sim=sim,
        real=real,
        within=agreement_within(own, sim, real, tolerance),
        reference=reference,
        candidate=sides["candidate"],
        last_good=sides.get("last_good"),
        seen=_answered(seen_rows(roles, "real", own.task), sides),
        field=field,
    )


def _answered(rows: Rows, sides: Mapping[str, Predicted]) -> Rows:
    for name, asked in sides.items():
        rows = answered(rows, asked.side, asked.report, OWN[name])
    return rows


def agreement_within(own: Metric, sim: Rows, real: Rows, tolerance: float) -> float:
    """Return how near numbers are that agree; 0 for classes, which are the same or not."""
    if own.is_share:
        return 0.0
    return tolerance * float(np.std((sim if len(sim) else real).labels))


def _fewest(metric: Metric) -> int:
    return 1 if metric.is_share else 2  # one number has no variance
