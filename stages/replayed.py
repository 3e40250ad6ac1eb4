"""The reference's figure on validation: what was reported of it, and what it is without leaks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.intervals import bootstrap_mean
from assay.scores import level, scores, spread
from stages.answers import Side, rows_of
from stages.dataset import read_roles
from stages.figures import estimate
from stages.metric import Metric
from stages.reports.replay import Leakage
from stages.reports.suspect import Suspect
from stages.stage import Estimate, MetricName

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stages.replay import Inputs, ReplayParams
    from stages.sample_doubles import Doubles

SHOWN = 8
LEAST = 10  # rows that a figure without the leaked ones rests on
HELD_OUT = ("validation_", "valid_", "val_", "test_", "held_out_", "")


def reported(
    stated: float | None, metrics: Mapping[str, float], metric: MetricName
) -> tuple[float | None, str | None, str | None]:
    """Return the figure that was reported of this metric, by whom, or why there is none.

    >>> reported(None, {"train_accuracy": 1.0, "val_accuracy": 0.9}, "accuracy")[:2]
    (0.9, 'training')
    """
    if stated is not None:
        return stated, "case", None
    for prefix in HELD_OUT:
        found = metrics.get(f"{prefix}{metric}")
        if found is not None:
            return found, "training", None
    why = f"Training reports no {metric} on rows held out; state `reported` in case.yaml."
    return None, None, why


class Replayed:
    """The reference's scores on the labelled rows of validation."""

    def __init__(self, inputs: "Inputs", params: "ReplayParams") -> None:
        self._params = params
        self._metric = Metric(params.metric, params.unit)
        self._rows = rows_of(inputs.roles, "sim", None, task=self._metric.task)
        given = Side(inputs.outputs).labels("sim", self._rows)
        self._scores: NDArray[np.float64] | None = None
        if given is not None and len(self._rows):
            self._scores = scores(params.metric, given, self._rows.labels)
        table = read_roles(inputs.roles)
        self._ids = table.loc[table["dataset"] == "sim", "id"].to_numpy(dtype=str)
        self._num_sim = len(self._ids)

    def leakage(self, doubles: "Doubles | None", why_not: str | None) -> Leakage:
        """Tell what was found, and the metric with and without it."""
        leaked = np.zeros(self._num_sim, bool) if doubles is None else doubles.leaked
        nothing = Leakage(
            num_train=0,
            num_validation=self._num_sim,
            num_exact=0,
            num_near=0,
            num_shared_groups=0,
            num_in_shared_groups=0,
            rows=[],
            all_rows=self._level(np.ones(self._num_sim, bool)),
            without=self._level(~leaked) if leaked.any() else None,
            why_not=why_not,
        )
        if doubles is None:
            return nothing
        nearly = 0
        if doubles.near is not None:
            nearly = int((doubles.near.leaked & ~doubles.exact.leaked).sum())
        return nothing.model_copy(
            update={
                "num_train": doubles.num_train,
                "num_exact": int(doubles.exact.leaked.sum()),
                "num_near": nearly,
                "num_shared_groups": doubles.num_shared_groups,
                "num_in_shared_groups": int(doubles.in_shared_groups.sum()),
                "rows": [str(one) for one in self._ids[leaked][:SHOWN]],
                "why_not_near": doubles.why_not_near,
            }
        )

    def _level(self, kept: "NDArray[np.bool_]") -> Estimate | None:
        own = kept[self._rows.positions]
        if self._scores is None or not own.any():
            return None
        found = level(
            self._params.metric,
            self._scores[own],
            self._rows.groups[own],
            num_draws=self._params.resamples,
            seed=self._params.seed,
        )
        return estimate(self._metric.shown(found))

    def missed(self, figure: float | None, by: str | None) -> list[Suspect]:
        """Suspect the figure where validation surely lies below it."""
        everything = self._level(np.ones(self._num_sim, bool))
        if figure is None or everything is None or self._scores is None:
            return []
        unit = spread(self._params.metric, self._rows.labels)
        sign = -1.0 if self._metric.less_is_better else 1.0
        bounds = [sign * (figure - one) for one in (everything.low, everything.high)]
        lost, low, high = sign * (figure - everything.value), min(bounds), max(bounds)
        if low <= self._params.margin * unit:
            return []
        said = "case.yaml reports" if by == "case" else "training reports"
        level_ = self._metric.level(everything.value)
        line = f"{said} {self._metric.level(figure)}; validation gives {level_} "
        return [
            Suspect(
                component="data",
                kind="replay",
                title="The reference does not reach on validation what was reported of it.",
                where="validation",
                cost=Estimate(value=lost, low=low, high=high, n=everything.n),
                evidence=[line + f"({self._metric.interval(everything)})."],
                action="find the checkpoint, the set or the metric that the report was made with",
                questions=["Which checkpoint and which rows was the reported figure measured on?"],
            )
        ]

    def leaks(self, leakage: Leakage, doubles: "Doubles | None") -> list[Suspect]:
        """Suspect rows that validation shares with training, more than chance."""
        if doubles is None:
            return []
        leaked, by_group = doubles.leaked, doubles.in_shared_groups
        if leaked.any():
            cost = self._cost(leaked)
            what = f"{int(leaked.sum())} of {leakage.num_validation} validation rows"
            title = f"{what} stand in training too."
            lines = [
                f"{leakage.num_exact} rows are the same, {leakage.num_near} more nearly so.",
                f"Among training's own rows {100 * doubles.exact.expected:.2g} % have a double.",
            ]
            p_value = min(one.p_value for one in (doubles.exact, doubles.near) if one is not None)
        else:
            cost = self._cost(by_group) if by_group.any() else None
            if cost is None or cost.low <= 0:
                return []
            title = f"{leakage.num_shared_groups} groups stand in training and in validation."
            lines = [f"{leakage.num_in_shared_groups} validation rows belong to them."]
            p_value = None
        if leakage.all_rows is not None and leakage.without is not None:
            with_, without = leakage.all_rows.value, leakage.without.value
            lines.append(
                f"Validation gives {self._metric.level(with_)}, without these rows "
                f"{self._metric.level(without)}."
            )
        return [
            Suspect(
                component="data",
                kind="leakage",
                title=title,
                where="validation",
                cost=cost,
                p_value=p_value,
                explained=1.0 if leaked.any() else None,
                evidence=lines,
                action="validate on rows that training has not seen, whole groups at a time",
                questions=["How were training and validation drawn: by row, or by session?"],
            )
        ]

    def _cost(self, leaked: "NDArray[np.bool_]") -> Estimate | None:
        """Bound how much better validation looks with the leaked rows than without."""
        own = leaked[self._rows.positions]
        if self._scores is None or own.sum() < 1 or (~own).sum() < LEAST:
            return None
        # mean(all) - mean(clean) = share * (mean(leaked) - mean(clean)), as one weighted mean;
        # centred on the clean rows, so that a draw of more leaked ones adds nothing by itself.
        share = float(own.mean())
        weights = np.where(own, 1.0, -share / (1 - share))
        values = (self._scores - self._scores[~own].mean()) * weights
        found = bootstrap_mean(values, self._rows.groups, self._params.resamples, self._params.seed)
        return estimate(found)
