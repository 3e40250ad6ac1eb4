"""Mitigations that serve something else, and the safe mode: what to do right now, and its price."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.abstaining import fit_threshold, served
from assay.scores import level
from stages.figures import estimate, percent
from stages.mitigate_rows import Answers, CannotTry, Judging, Tried, loading, text
from stages.reports.mitigate import Acts, Kind, SafeMode
from stages.stage import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Something else that could be served, with what it answers."""

    kind: Kind
    title: str
    acts_on: Acts
    answers: Answers
    what: Mapping[str, Any]  # that the file holds

    def tried(self) -> Tried:
        """Return it as a mitigation; nothing is fitted."""
        if self.answers["prove"] is None or self.answers["fit"] is None:
            raise CannotTry("Nobody knows what it answers to real rows.")
        file = f"{self.kind}.json"
        return Tried(
            kind=self.kind,
            title=self.title,
            acts_on=self.acts_on,
            answers=self.answers,
            files={file: text(**self.what)},
            load=loading(file, "answer = made"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Safe:
    """The ways to serve until it is mended."""

    judging: Judging
    labels: Answers
    confidence: Mapping[Any, NDArray[np.float64] | None]
    others: Mapping[str, Answers]  # name -> what it answers
    wanted: float  # accuracy of what is answered
    num_draws: int
    seed: int

    def threshold(self) -> tuple[float | None, str]:
        """Fit the confidence below which nothing is answered, or say why there is none."""
        sure, labels = self.confidence.get("fit"), self.labels["fit"]
        if not self.judging.metric.is_share:
            return None, "A number carries no confidence to abstain by."
        if sure is None or labels is None:
            return None, "The candidate's confidence is not known."
        found = fit_threshold(sure, labels == self.judging.rows["fit"].labels, self.wanted)
        if found is None:
            wanted = percent(self.wanted)
            return None, (
                f"No confidence is high enough: nowhere does the lower bound of the accuracy of "
                f"what is answered reach {wanted} on role fit."
            )
        return found, ""

    def modes(self, threshold: float | None) -> Iterator[SafeMode]:
        """Tell what each way costs on role prove."""
        rows = self.judging.rows["prove"]
        every = np.ones(len(rows), bool)
        labels, sure = self.labels["prove"], self.confidence.get("prove")
        if labels is not None:
            yield self._mode("as it is", "The candidate answers every case.", labels, every)
        if labels is not None and sure is not None and threshold is not None:
            says = f"Below a confidence of {threshold:.3f} a person decides."
            made = self._mode("abstain", says, labels, sure >= threshold)
            yield made.model_copy(update={"threshold": threshold})
        for name, answers in self.others.items():
            given = answers["prove"]
            if given is not None:
                yield self._mode(name, f"Serve {name} in its place.", given, every)
        if labels is not None:
            yield self._mode("a person", "A person decides every case.", labels, ~every)

    def _mode(
        self, name: str, says: str, labels: NDArray[Any], kept: NDArray[np.bool_]
    ) -> SafeMode:
        rows, metric = self.judging.rows["prove"], self.judging.metric
        scores = self.judging.scores("prove", labels)
        draws = {"num_draws": self.num_draws, "seed": self.seed}
        cost = served(scores > 0, kept, rows.groups, **draws)
        found = cost.answered
        if kept.any() and not metric.is_share:
            found = metric.shown(level(metric.name, scores[kept], rows.groups[kept], **draws))
        left = estimate(cost.left)
        return SafeMode(
            name=name,
            says=says,
            coverage=estimate(cost.coverage),
            answered=None if found is None else estimate(found),
            human_per_1000=Estimate(
                value=1000 * left.value,
                low=1000 * left.low,
                high=1000 * left.high,
                n=left.n,
                groups=left.groups,
            ),
        )
