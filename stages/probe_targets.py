"""What a model's outputs have to be for each label, and how its answers are scored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.scores import Scores, scores
from sides.case_code import CaseCodeError, calling, load
from stages.metric import Metric

NUM_STRATA = 5
WHERE = "postprocess"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Labels are output columns, perhaps in another order."""

    metric: Metric
    columns: NDArray[np.int64]  # (classes,) the output column of each label

    def targets(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the right output column of each row."""
        columns: NDArray[Any] = self.columns[labels]
        return columns

    def scores(self, outputs: NDArray[Any], targets: NDArray[Any]) -> Scores:
        """Score the outputs, a row each."""
        return scores(self.metric.name, outputs.argmax(axis=1), targets)

    def strata(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return what a draw shall hold equally many of."""
        return targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Labels are the only output, perhaps in another unit: `factor * output + offset`."""

    metric: Metric
    factor: float
    offset: float

    def targets(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the right output of each row."""
        return (labels - self.offset) / self.factor

    def scores(self, outputs: NDArray[Any], targets: NDArray[Any]) -> Scores:
        """Score the outputs, a row each, in the labels' unit."""
        answers = self.factor * outputs[:, 0].astype(np.float64) + self.offset
        return scores(self.metric.name, answers, self.factor * targets + self.offset)

    def strata(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Cut the targets at their quantiles."""
        order = np.argsort(np.argsort(targets, kind="stable"), kind="stable")
        return order * NUM_STRATA // max(1, len(targets))


def classes(metric: Metric, num_classes: int, postprocess: str | None) -> Classes | None:
    """Find the output column of each label; None when there is no such thing."""
    if postprocess is None:
        return Classes(metric=metric, columns=np.arange(num_classes))
    made = _asked(postprocess, 10 * np.eye(num_classes, dtype=np.float32))
    if made is None or made.shape != (num_classes,) or made.dtype.kind not in "biu":
        return None
    if sorted(made.tolist()) != list(range(num_classes)):
        return None
    return Classes(metric=metric, columns=np.argsort(made))


def numbers(metric: Metric, postprocess: str | None) -> Numbers | None:
    """Find the straight line from the output to the label; None when there is no such thing."""
    if postprocess is None:
        return Numbers(metric=metric, factor=1.0, offset=0.0)
    outputs = np.array([-3.0, -1.0, 0.0, 0.5, 2.0], dtype=np.float32)
    made = _asked(postprocess, outputs[:, None].copy())
    if made is None or made.shape != outputs.shape or made.dtype.kind not in "biuf":
        return None
    if not np.isfinite(made).all():
        return None
    factor, offset = np.polyfit(outputs, made, 1)
    straight = np.allclose(factor * outputs + offset, made, rtol=1e-5, atol=1e-6)
    if not straight or factor == 0:
        return None
    return Numbers(metric=metric, factor=float(factor), offset=float(offset))


def _asked(postprocess: str, outputs: NDArray[Any]) -> NDArray[Any] | None:
    """Ask a rule about made-up outputs; None where it does not take them, as of other widths."""
    function = load(postprocess, WHERE)
    try:
        with calling(WHERE):
            return np.asarray(function(outputs))
    except CaseCodeError:
        return None
