"""What became of the metric, alteration by alteration, on the same rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.alterations import MATCHED
from assay.explanations import Explained, Tried, explain
from assay.gains import paired_gain
from assay.intervals import Interval
from assay.multiplicity import holm
from assay.scores import level, scores
from stages.answers import Rows, rows_of
from stages.figures import estimate
from stages.metric import Metric
from stages.reports.alter import Alteration, AlterReport
from stages.reports.field import Ablated, Experiment, LagPoint, Triage

Floats = NDArray[np.float64]

SUPPORTED = 32  # in simplicity: what it is worth that simulation made so loses the same
FILTERS = ("blur", "sensor_noise")  # sharpening, or smoothing, changes more than what it undoes
REFUTED = 0.25  # of the loss: simulation made so surely loses less
RIVAL = 0.4  # of what is regained: what regains less takes no other claim's place
CLAIMS = ("align", "rearrange", "restore", "lag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """One domain's rows as they are."""

    rows: Rows
    answers: NDArray[Any]
    scores: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One alteration's outcome."""

    alteration: Alteration
    scores: Floats
    change: Interval  # regained on real rows, lost on simulated ones
    p_value: float


class Experiments:
    """All alterations of a report, asked."""

    def __init__(
        self,
        altered: AlterReport,
        roles: Path,
        outputs: Path,
        asked: Path,
        *,
        metric: Metric,
        seed: int,
    ) -> None:
        self.altered, self.metric, self._seed = altered, metric, seed
        self._asked = asked
        self.base = {
            "real": self._base(roles, "real", altered.rows_real, outputs / "real-reference"),
            "sim": self._base(roles, "sim", altered.rows_sim, outputs / "sim"),
        }
        found = (self._ask(one) for one in altered.plan)
        self.told = {one.alteration.key: one for one in found if one is not None}
        claims = self.claims()
        adjusted = holm([min(1.0, one.p_value) for one in claims], _weights(claims))
        self.p_holm = {
            one.alteration.key: float(p) for one, p in zip(claims, adjusted, strict=True)
        }

    def _base(self, roles: Path, dataset: str, positions: list[int], stem: Path) -> Base:
        every = rows_of(roles, dataset, None, labelled=False, task=self.metric.task)
        at = np.array(positions, dtype=np.int64)  # rows of all roles: positions are places
        rows = Rows(positions=at, labels=every.labels[at], groups=every.groups[at])
        answers = np.load(stem.with_name(stem.name + ".labels.npy"), mmap_mode="r")[at]
        return Base(
            rows=rows, answers=answers, scores=scores(self.metric.name, answers, rows.labels)
        )

    def _ask(self, one: Alteration) -> Told | None:
        path = self._asked / f"{one.key}.labels.npy"
        if not path.exists():
            return None
        base = self.base[one.domain]
        found = scores(self.metric.name, np.load(path), base.rows.labels)
        before, after = (base.scores, found) if one.domain == "real" else (found, base.scores)
        share = self.metric.is_share
        gain = paired_gain(before, after, base.rows.groups, is_share=share)
        p_value = gain.p_value / 2 if gain.interval.value > 0 else 1.0  # one-sided: it regains
        return Told(alteration=one, scores=found, change=gain.interval, p_value=p_value)

    def claims(self) -> list[Told]:
        """List the alterations that would explain the loss."""
        return [
            one
            for one in self.told.values()
            if one.alteration.claims
            and one.alteration.domain == "real"
            and one.alteration.family in CLAIMS
        ]

    def partner(self, one: Alteration) -> Told | None:
        """Find simulation made so: the very same, or that of the same kind which loses most."""
        made = [it for it in self.told.values() if it.alteration.family == "reproduce"]
        exact = [it for it in made if it.alteration.makes == one.key]
        alike = [
            it for it in made if it.alteration.makes is None and it.alteration.kind == one.kind
        ]
        return max(exact or alike, key=lambda it: it.change.value, default=None)

    def _plainness(self, one: Alteration, gap: float) -> int:
        """Give the simplicity, better where simulation made so loses what real rows lose."""
        partner = self.partner(one)
        if partner is None:
            return one.simplicity
        match = 1 - min(1.0, abs(partner.change.value - gap) / gap)
        return one.simplicity - round(SUPPORTED * (match - 0.5))

    def _refuted(self, one: Alteration, gap: float) -> bool:
        """Tell whether it may regain by other ways: simulation made so loses hardly anything."""
        partner = self.partner(one)
        pliable = one.kind in FILTERS or one.simplicity >= MATCHED
        return pliable and partner is not None and partner.change.high < REFUTED * gap

    def explained(self, gap: float, *, alpha: float, margin: float) -> Explained:
        """Choose among the claims."""
        base = self.base["real"].scores
        sound = [one for one in self.claims() if not self._refuted(one.alteration, gap)]
        most = max((one.change.value for one in sound), default=0.0)
        tried = [
            Tried(
                key=one.alteration.key,
                kind=one.alteration.kind,
                where=one.alteration.where,
                simplicity=self._plainness(one.alteration, gap),
                gained=one.scores - base,
                interval=one.change,
                p_value=self.p_holm[one.alteration.key],
            )
            for one in self.claims()
            if one in sound or one.change.value * RIVAL > most
        ]
        return explain(tried, self.base["real"].rows.groups, alpha=alpha, margin=margin)

    def level(self, found: Floats, domain: str) -> Interval:
        """Bound the metric as people know it."""
        groups = self.base[domain].rows.groups
        bounded = level(self.metric.name, found, groups, num_draws=1000, seed=self._seed)
        return self.metric.shown(bounded)

    def listed(self, explained: Explained) -> list[Experiment]:
        """Tell every alteration, what regains most first, then what simulation loses."""
        made = [
            Experiment(
                **_words(one.alteration),
                level=estimate(self.level(one.scores, one.alteration.domain)),
                change=estimate(one.change),
                p_holm=self.p_holm.get(one.alteration.key),
                same_as=explained.same_as.get(one.alteration.key),
            )
            for one in self.told.values()
        ]
        return sorted(
            made, key=lambda one: (one.domain != "real", -one.change.value, one.simplicity, one.key)
        )

    def ablation(self) -> list[Ablated]:
        """Tell what each channel is worth in both domains."""
        pairs: dict[str, dict[str, Interval]] = {}
        for one in self.told.values():
            if one.alteration.family == "ablate" and one.alteration.where:
                change = one.change if one.alteration.domain == "sim" else one.change.negated()
                pairs.setdefault(one.alteration.where, {})[one.alteration.domain] = change
        return [
            Ablated(
                channel=channel, lost_sim=estimate(pair["sim"]), lost_real=estimate(pair["real"])
            )
            for channel, pair in pairs.items()
            if len(pair) == len(self.base)
        ]

    def lags(self) -> list[LagPoint]:
        """Tell the metric over the lags, 0 being as it is."""
        made = []
        swept = [one for one in self.told.values() if one.alteration.family == "lag"]
        for where in dict.fromkeys(one.alteration.where for one in swept):
            found = {0: self.base["real"].scores}
            found |= {
                one.alteration.lag: one.scores
                for one in swept
                if one.alteration.where == where and one.alteration.lag is not None
            }
            made += [
                LagPoint(
                    channel=where or "", lag=lag, level=estimate(self.level(found[lag], "real"))
                )
                for lag in sorted(found)
            ]
        return made

    def triage(self, outputs: Path) -> list[Triage]:
        """Tell what people try by hand: each side's preprocessing, statistics made simulation's."""
        base = self.base["real"]
        as_is = estimate(self.level(base.scores, "real"))
        made = [
            Triage(name="simulation", level=estimate(self._sim()), change=None),
            Triage(name="real, the reference's preprocessing", level=as_is, change=None),
        ]
        path = outputs / "real-candidate.labels.npy"
        if path.exists():
            answers = np.load(path, mmap_mode="r")[base.rows.positions]
            found = scores(self.metric.name, answers, base.rows.labels)
            made.append(self._tried("real, the candidate's preprocessing", found))
        for key, name in TRIAGE.items():
            if key in self.told:
                made.append(self._tried(name, self.told[key].scores))
        return made

    def _tried(self, name: str, found: Floats) -> Triage:
        base = self.base["real"]
        share = self.metric.is_share
        gain = paired_gain(base.scores, found, base.rows.groups, is_share=share)
        level = estimate(self.level(found, "real"))
        return Triage(name=name, level=level, change=estimate(gain.interval))

    def _sim(self) -> Interval:
        return self.level(self.base["sim"].scores, "sim")


TRIAGE = {
    "offset-all": "real, each channel's mean brought to simulation's",
    "standardise-all": "real, mean and deviation brought to simulation's",
    "affine": "real, light and contrast brought to simulation's",
    "each-contrast": "real, light and contrast of each picture brought to simulation's",
    "cast-added": "real, each colour's mean brought to simulation's",
    "histogram-all": "real, distributions matched to simulation's",
    "histogram": "real, the distribution of light matched to simulation's",
    "denoise-wiener": "real, noise taken off",
    "sharpen": "real, sharpened",
}


def _weights(claims: list[Told]) -> Floats:
    """Give the simple claims more of the level: how simple one is no label has a say in."""
    places = np.argsort(np.argsort([one.alteration.simplicity for one in claims], kind="stable"))
    made: Floats = 1 / np.sqrt(1.0 + places)
    return made


def _words(one: Alteration) -> dict[str, Any]:
    names = ("key", "title", "kind", "domain", "family", "simplicity", "where")
    return {name: getattr(one, name) for name in names}
