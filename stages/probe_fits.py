"""One fit of a model to drawn rows, and how it does on held-out ones: the parts of a probe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.recalibrate import fit_bias, fit_temperature, log_shares
from stages.probe_targets import Classes, Numbers
from stages.reports.probe import Kind

if TYPE_CHECKING:
    from stages.finetune import Finetune

Scores = NDArray[np.float64]
OUTPUTS_ALONE: tuple[Kind, ...] = ("bias", "temperature")
"""Kinds that look at what the unchanged model answers, and at nothing inside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of one role; `targets` are what the model's output should be, see `Classes`."""

    tensors: NDArray[np.float32]
    targets: NDArray[Any]
    groups: NDArray[Any]

    def at(self, rows: NDArray[np.int64]) -> "Rows":
        """Return some of them, in this order."""
        return Rows(
            tensors=self.tensors[rows], targets=self.targets[rows], groups=self.groups[rows]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The model under examination, and how its answers are scored."""

    finetune: "Finetune"
    targets: Classes | Numbers

    def scores(self, rows: Rows) -> Scores:
        """Score what the model answers now."""
        return self.targets.scores(self.finetune.outputs(rows.tensors), rows.targets)

    def fitted(self, kind: Kind, rate: float, seed: int, rows: Rows, judged: Rows) -> Scores:
        """Fit to some rows, and score others."""
        if kind in OUTPUTS_ALONE:
            return self._of_outputs(kind, rows, judged)
        self.finetune.fit(kind, rows.tensors, rows.targets, learning_rate=rate, seed=seed)
        return self.scores(judged)

    def _of_outputs(self, kind: Kind, rows: Rows, judged: Rows) -> Scores:
        self.finetune.restore()
        given, asked = (self.finetune.outputs(one.tensors) for one in (rows, judged))
        if isinstance(self.targets, Numbers):  # a bias alone: what it is off by in the mean
            shift = float(np.mean(rows.targets - given[:, 0]))
            return self.targets.scores(asked + np.float32(shift), judged.targets)
        logs, later = log_shares(given), log_shares(asked)
        if kind == "bias":
            return self.targets.scores(later + fit_bias(logs, rows.targets), judged.targets)
        return self.targets.scores(later / fit_temperature(logs, rows.targets), judged.targets)


def draw(strata: NDArray[Any], seed: tuple[int, ...]) -> NDArray[np.int64]:
    """Order the rows so that each beginning of the order holds all strata as equally as it can."""
    shuffled = np.random.default_rng(seed).permutation(len(strata))
    turn = np.empty(len(strata), dtype=np.int64)
    for stratum in np.unique(strata):
        own = shuffled[strata[shuffled] == stratum]
        turn[own] = np.arange(len(own))
    return shuffled[np.argsort(turn[shuffled], kind="stable")]
