"""The probe ladder: each kind on few to many real labels, beside equally many of simulation.

A probe that regains as much with labels of simulation tells nothing about the field: it would have
helped anyway. Kinds that run the whole model at each step are fitted at fewer sizes, which bounds
the cost; a kind that was fitted for the curve is not fitted again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.crossed import crossed_mean
from assay.intervals import Interval
from assay.scores import LEVELS, LOSSES
from stages.figures import estimate
from stages.probe_fits import Probed, Rows, Scores, draw
from stages.probe_targets import Numbers
from stages.reports.probe import KINDS, Kind, Rung, Says

DEEP: tuple[Kind, ...] = ("first_block", "lp_ft", "whole_model", "scratch")
SIM_SEED = 1  # beside the seed of the real draws: other rows, other draws
Tables = Mapping[tuple[int, Kind], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """What is climbed, on which rows, how often."""

    probed: Probed
    real: Rows  # of role fit
    sim: Rows
    held_out: Rows
    unchanged: Scores  # of the held-out rows
    sizes: Sequence[int]
    deep_sizes: Sequence[int]
    resamples: int
    seed: int
    rates: Mapping[str, float]  # of the curve's kinds

    def rungs(self, known: Tables) -> tuple[list[Rung], dict[str, str]]:
        """Fit all kinds; `known` are scores (resamples, rows) of the same draws."""
        absent = self._absent()
        found = []
        for kind in KINDS:
            if kind in absent:
                continue
            sizes = set(self.deep_sizes if kind in DEEP else self.sizes)
            if self.sizes and kind in DEEP:  # what was fitted for the curve costs nothing
                sizes |= {size for size, fitted in known if fitted == kind}
            own = [size for size in sorted(sizes) if size <= len(self.real.targets)]
            found += [self._rung(kind, size, known.get((size, kind))) for size in own]
        return found, absent

    def _absent(self) -> dict[str, str]:
        absent = {}
        if isinstance(self.probed.targets, Numbers):
            absent["temperature"] = "A model of a number has no temperature."
        if not self.probed.finetune.statistics():
            absent["bn_statistics"] = "No layer normalises by running statistics."
        return absent

    def _rung(self, kind: Kind, size: int, known: NDArray[np.float64] | None) -> Rung:
        real = self._table(kind, size, self.real, 0) if known is None else known
        real = real[: self.resamples] if kind in DEEP else real
        gain = self._difference(real - self.unchanged)
        sim = beside = labels = None
        compared = self.deep_sizes if kind in DEEP else self.sizes
        if size in compared and size <= len(self.sim.targets):
            sim = self._table(kind, size, self.sim, SIM_SEED)
            paired = real[: len(sim)] - sim
            beside, labels = self._difference(sim - self.unchanged), self._difference(paired)
        return Rung(
            kind=kind,
            labels=size,
            resamples=len(real),
            real=estimate(self._level(real)),
            sim=None if sim is None else estimate(self._level(sim)),
            gain=estimate(gain),
            labels_gain=None if labels is None else estimate(labels),
            says=_says(gain, beside, labels),
        )

    def _table(self, kind: Kind, size: int, rows: Rows, more: int) -> NDArray[np.float64]:
        strata = self.probed.targets.strata(rows.targets)
        scores = []
        for number in range(self.resamples):
            seed = (self.seed, number, more) if more else (self.seed, number)
            drawn = rows.at(draw(strata, seed)[:size])
            rate = self.rates.get(kind, self.rates["whole_model"])
            scores.append(self.probed.fitted(kind, rate, self.seed + number, drawn, self.held_out))
        return np.stack(scores)

    def _difference(self, table: NDArray[np.float64]) -> Interval:
        bounds = LOSSES[self.probed.targets.metric.name]
        return crossed_mean(table, self.held_out.groups).within(*bounds)

    def _level(self, table: NDArray[np.float64]) -> Interval:
        metric = self.probed.targets.metric
        found = crossed_mean(table, self.held_out.groups).within(*LEVELS[metric.name])
        return metric.shown(found)


def _says(gain: Interval, beside: Interval | None, labels: Interval | None) -> Says:
    if gain.high < 0:
        return "hurts"
    if gain.low <= 0 or beside is None or labels is None:
        return "undecided"
    if labels.low > 0:
        return "labels help"
    return "the probe helps anyway" if beside.low > 0 else "undecided"
