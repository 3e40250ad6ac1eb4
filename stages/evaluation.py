"""Each side's answers against the labels: the reports of `evaluate`, put together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.residuals import by_group, residuals
from assay.scores import level
from stages.answers import Rows, Side
from stages.confidence import Confidence, calibration, confidence, operating, sweep, unlabelled
from stages.figures import estimate
from stages.metric import Metric
from stages.reports.evaluate import (
    Evaluated,
    EvaluateReport,
    GroupResiduals,
    Part,
    ResidualsReport,
    Unlabelled,
    Where,
)
from stages.reports.predict import PredictReport
from stages.seen_rows import seen_rows
from stages.stage import MetricName

WHERE: tuple[Where, ...] = ("sim", "real")
NO_LABELS = "No row has a label."
SHOWN_CLASSES = 50  # a larger confusion is no longer read
SHOWN_PARTS = 100  # of the groups, the worst
SHOWN_ROWS = 300  # of predicted and true values, a side and dataset


@dataclass(frozen=True, slots=True)
class Told:
    """What one side answered."""

    report: PredictReport
    folder: Path

    def set_of(self, where: Where) -> str:
        """Name the set that it answered on tensors of its own."""
        return "sim" if where == "sim" else f"real-{self.report.side}"

    def why_not(self, where: Where) -> str:
        """Say why there are no answers."""
        name = self.set_of(where)
        said = self.report.errors.get(name) or self.report.absent.get(name)
        return said or f"The {self.report.side} has no answers to {name}."


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Everything that the figures rest on."""

    roles: Path
    sides: Sequence[Told]
    metric: MetricName
    unit: str | None
    private: bool  # groups are named by number
    bins: int
    resamples: int
    seed: int

    @property
    def words(self) -> Metric:
        """The metric in words."""
        return Metric(self.metric, self.unit)

    def report(self) -> EvaluateReport:
        """Evaluate each side on each dataset."""
        rows = {where: self._rows(where) for where in WHERE}
        evaluated = [
            self._evaluated(told, where, rows[where]) for told in self.sides for where in rows
        ]
        return EvaluateReport(
            metric=self.metric,
            unit=self.unit,
            evaluated=evaluated,
            unlabelled=self._unlabelled(rows),
        )

    def predicted(self) -> list[str]:
        """Write true and predicted values of a few rows, evenly spaced: for the chart."""
        if self.words.task == "classification" or self.private:
            return []
        lines = []
        for told in self.sides:
            for where in WHERE:
                rows = self._rows(where).labelled()
                given = Side(told.folder).labels(told.set_of(where), rows)
                if given is None:
                    continue
                step = max(1, -(-len(rows) // SHOWN_ROWS))
                lines += [
                    f"{told.report.side},{where},{true:.6g},{made:.6g}"
                    for true, made in zip(rows.labels[::step], given[::step], strict=True)
                    if np.isfinite(made)
                ]
        return lines

    def _rows(self, where: Where) -> Rows:
        return seen_rows(self.roles, where, self.words.task)

    def _evaluated(self, told: Told, where: Where, all_rows: Rows) -> Evaluated:
        rows, side = all_rows.labelled(), Side(told.folder)
        given = side.labels(told.set_of(where), rows)
        found: dict[str, Any] = _nothing(told, where, rows)
        if given is None or not len(rows):
            found["why_not"] = told.why_not(where) if given is None else NO_LABELS
            return Evaluated(**found)
        scores = side.scores(told.set_of(where), rows, self.words)
        found["metric"] = estimate(self.words.shown(self._level(scores, rows.groups)))
        if self.words.task == "regression":
            return Evaluated(**found | {"residuals": self._residuals(given, rows)})
        found["groups"] = self._parts(scores, self._named(rows.groups), rows, SHOWN_PARTS)
        found["classes"] = self._parts(scores, rows.labels, rows, SHOWN_CLASSES)
        found["confusion"] = _confusion(rows.labels, given)
        sure = confidence(side.raw(told.set_of(where), rows), rows.labels)
        if isinstance(sure, str):
            said = told.report.no_outputs.get(told.set_of(where), sure)
            return Evaluated(**found | {"why_no_calibration": said})
        found["calibration"] = self._calibration(sure, scores > 0, rows)
        found["sweep"] = sweep(sure, scores > 0)
        found["operating"] = operating(sure, rows.labels)
        return Evaluated(**found)

    def _level(self, scores: NDArray[np.float64], groups: NDArray[Any] | None) -> Any:
        return level(self.metric, scores, groups, num_draws=self.resamples, seed=self.seed)

    def _calibration(self, sure: Confidence, right: NDArray[np.bool_], rows: Rows) -> Any:
        return calibration(
            sure, right, rows.groups, bins=self.bins, resamples=self.resamples, seed=self.seed
        )

    def _named(self, groups: NDArray[Any]) -> NDArray[Any]:
        """Name groups by number where names are private: they may be people."""
        if not self.private:
            return groups
        _, numbers = np.unique(groups, return_inverse=True)
        return np.array([f"group {number + 1}" for number in numbers])

    def _parts(
        self, scores: NDArray[np.float64], names: NDArray[Any], rows: Rows, most: int
    ) -> list[Part]:
        """Bound the metric on the rows of each name by their groups; the worst `most`."""
        of_name = {name: names == name for name in np.unique(names)}
        worst = sorted(of_name, key=lambda name: float(scores[of_name[name]].mean()))[:most]
        return [
            Part(
                name=str(name),
                metric=estimate(self._level(scores[of_name[name]], rows.groups[of_name[name]])),
            )
            for name in worst
        ]

    def _residuals(self, given: NDArray[Any], rows: Rows) -> ResidualsReport | None:
        answered = np.isfinite(given)
        made, true = given[answered].astype(np.float64), rows.labels[answered]
        if len(made) == 0:
            return None
        groups = rows.groups[answered]
        found = residuals(made, true, groups, num_draws=self.resamples, seed=self.seed)
        worst = by_group(made, true, self._named(groups))[:SHOWN_PARTS]
        return ResidualsReport(
            mae=estimate(found.mae),
            rmse=estimate(found.rmse),
            r2=None if found.r2 is None else estimate(found.r2),
            bias=estimate(found.bias),
            slope=None if found.slope is None else estimate(found.slope),
            intercept=found.intercept,
            groups=[
                GroupResiduals(
                    group=one.group, bias=one.bias, spread=one.spread, mae=one.mae, n=one.n
                )
                for one in worst
            ],
        )

    def _unlabelled(self, rows: dict[Where, Rows]) -> list[Unlabelled]:
        """Say what can be said of the real rows without their labels."""
        if self.words.task == "regression":
            return []
        reference = Side(self.sides[0].folder).labels("real-reference", rows["real"])
        found = [
            unlabelled(
                told.report.side,
                {where: told.set_of(where) for where in rows},
                Side(told.folder),
                rows,
                reference=None if told is self.sides[0] else reference,
                resamples=self.resamples,
                seed=self.seed,
            )
            for told in self.sides
        ]
        return [one for one in found if one is not None]


def _nothing(told: Told, where: Where, rows: Rows) -> dict[str, Any]:
    lists = ("groups", "classes", "sweep", "operating")
    nothing = ("metric", "why_not", "confusion", "calibration", "why_no_calibration", "residuals")
    return {
        "side": told.report.side,
        "where": where,
        "n": len(rows),
        **{name: [] for name in lists},
        **dict.fromkeys(nothing),
    }


def _confusion(labels: NDArray[np.int64], given: NDArray[np.int64]) -> list[list[int]] | None:
    size = int(max(labels.max(), given.max())) + 1
    if size > SHOWN_CLASSES or given.min() < 0:
        return None
    counts: NDArray[np.int64] = np.zeros((size, size), np.int64)
    np.add.at(counts, (labels, given), 1)
    return [[int(count) for count in row] for row in counts]
