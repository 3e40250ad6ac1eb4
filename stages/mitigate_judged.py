"""Whether a mitigation is accepted: paired on held-out rows, with Holm over all that were judged.

What does not help on the rows that it was fitted to, or answers as another one does, is left out
before the held-out rows are looked at: each look costs.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.gains import Gain, paired_gain
from assay.intervals import Interval
from assay.multiplicity import holm
from assay.scores import level
from stages.figures import estimate
from stages.mitigate_rows import Answers, Judging, Name, Tried
from stages.reports.mitigate import NotOffered, Offer, OfferFile

if TYPE_CHECKING:
    from stages.stage import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The candidate as it is deployed, and what a mitigation is held to."""

    judging: Judging
    labels: Answers
    confidence: Answers
    alpha: float
    margin: float  # by which sim may get worse, in the metric
    num_draws: int
    seed: int

    def offers(self, tried: list[Tried]) -> tuple[list[Offer], list[NotOffered]]:
        """Judge what helps where it was fitted; the best gain first."""
        left_out, kept, seen = [], list[Tried](), dict[str, str]()
        for one in tried:
            why = self._why_not(one)
            same = seen.setdefault(_print_of(one), one.kind) if not why else one.kind
            if not why and same != one.kind:
                why = f"It answers as `{same}` does."
            if why:
                left_out.append(NotOffered(kind=one.kind, why=why))
            else:
                kept.append(one)
        gains = [self._gain(one, "prove") for one in kept]
        adjusted = holm([gain.p_value for gain in gains])
        offers = [
            self._offer(one, gain, float(p))
            for one, gain, p in zip(kept, gains, adjusted, strict=True)
        ]
        # What changes answers first: gains of two measures are not of one size.
        order = sorted(
            offers, key=lambda one: (not one.accepted, one.measure == "brier", -one.gain.low)
        )
        return order, left_out

    def _why_not(self, one: Tried) -> str:
        """Say why the held-out rows need not be looked at."""
        if one.answers["fit"] is None or one.answers["prove"] is None:
            return "What it answers is not known."
        gain = float(np.mean(self._after(one, "fit") - self._before(one, "fit")))
        if gain > 0:
            return ""
        return f"On role fit it {'loses' if gain < 0 else 'gains nothing'}."

    def _before(self, one: Tried, name: Name) -> NDArray[np.float64]:
        labels = _must(self.labels[name])
        if one.measure == "metric":
            return self.judging.scores(name, labels)
        return -((_must(self.confidence[name]) - self.judging.scores(name, labels)) ** 2)

    def _after(self, one: Tried, name: Name) -> NDArray[np.float64]:
        answers = _must(one.answers[name])
        if one.measure == "metric":
            return self.judging.scores(name, answers)
        return -((answers - self.judging.scores(name, _must(self.labels[name]))) ** 2)

    def _gain(self, one: Tried, name: Name) -> Gain:
        return paired_gain(
            self._before(one, name),
            self._after(one, name),
            self.judging.rows[name].groups,
            is_share=one.measure == "metric" and self.judging.metric.is_share,
        )

    def _offer(self, one: Tried, gain: Gain, p_holm: float) -> Offer:
        sim, why_no_sim = self._sim(one)
        why = self._reason(one, gain.interval, p_holm, sim)
        return Offer(
            kind=one.kind,
            title=one.title,
            acts_on=one.acts_on,
            measure=one.measure,
            fitted=one.fitted,
            before=self._level(one, self._before(one, "prove")),
            after=self._level(one, self._after(one, "prove")),
            gain=estimate(gain.interval),
            p_value=gain.p_value,
            p_holm=p_holm,
            sim=None if sim is None else estimate(sim),
            why_no_sim=why_no_sim,
            accepted=not why,
            why=why or "The gain on held-out rows is above 0, and simulation keeps the margin.",
            files=[
                OfferFile(name=name, sha256=sha256(content).hexdigest())
                for name, content in one.files.items()
            ],
            load=list(one.load),
        )

    def _level(self, one: Tried, found: NDArray[np.float64]) -> "Estimate":
        rows, metric = self.judging.rows["prove"], self.judging.metric
        draws = {"num_draws": self.num_draws, "seed": self.seed}
        if one.measure == "metric":
            return estimate(metric.shown(level(metric.name, found, rows.groups, **draws)))
        mean = level("mae", found, rows.groups, **draws)  # a mean of costs, as errors are
        return estimate(mean.negated())

    def _sim(self, one: Tried) -> tuple[Interval | None, str]:
        if one.acts_on == "confidence":
            return None, "It changes no answer."
        if self.labels["sim"] is None or one.answers["sim"] is None:
            return None, "Its answers to simulation are not known."
        if not len(self.judging.rows["sim"]):
            return None, "Validation has no labels."
        return self._gain(one, "sim").interval, ""

    def _reason(self, one: Tried, gain: Interval, p_holm: float, sim: Interval | None) -> str:
        """Say why it is not accepted; nothing where it is."""
        if gain.high < 0:
            return "On held-out rows it loses."
        if gain.low <= 0:
            return "The gain on held-out rows is not told from none."
        if p_holm > self.alpha:
            return "Among as many that were tried, chance explains the gain on held-out rows."
        if sim is None:
            known = one.acts_on in ("confidence", "deployment")
            return "" if known else "What it does to simulation is not known."
        if sim.low < -self.margin:
            return "Simulation may get worse by more than the margin."
        return ""


def _must(answers: NDArray[Any] | None) -> NDArray[Any]:
    assert answers is not None  # noqa: S101  who is judged was asked before
    return answers


def _print_of(one: Tried) -> str:
    """Tell tries apart by what they answer where nothing is judged."""
    made = sha256(one.measure.encode())
    names: tuple[Name, ...] = ("fit", "sim")
    for name in names:
        answers = one.answers[name]
        made.update(b"" if answers is None else np.ascontiguousarray(answers).tobytes())
    return made.hexdigest()
