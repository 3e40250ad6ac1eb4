"""Who said what: the rows of a role with their labels, and what the sides answered for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.dataset import (
    UNLABELLED,
    groups_of,
    labels_of,
    of,
    open_tensor,
    read_roles,
    targets_of,
)
from stages.metric import Metric
from stages.reports.predict import PredictReport
from stages.stage import InputFault, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TENSORS = ("real-reference", "real-candidate")
RECORDED = "recorded:"  # how the reason begins where a recording could not be asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of one dataset, in the order of its tensors."""

    positions: "NDArray[np.int64]"  # (rows,) in the tensors of their dataset
    labels: "NDArray[Any]"  # (rows,) classes, UNLABELLED where there is none; or numbers, NaN
    groups: "NDArray[Any]"  # (rows,)

    def __len__(self) -> int:
        """How many."""
        return len(self.positions)

    def only(self, kept: "NDArray[np.bool_]") -> "Rows":
        """Leave out the rows that are not `kept`, (rows,)."""
        return Rows(
            positions=self.positions[kept], labels=self.labels[kept], groups=self.groups[kept]
        )

    def labelled(self) -> "Rows":
        """Leave out the rows that have no label."""
        return self.only(is_known(self.labels))


def is_known(labels: "NDArray[Any]") -> "NDArray[np.bool_]":
    """Tell which rows have a label, or an answer, be it a class or a number."""
    import numpy as np

    known: NDArray[np.bool_] = (
        np.isfinite(labels) if labels.dtype.kind == "f" else labels != UNLABELLED
    )
    return known


def rows_of(
    roles: Path,
    dataset: str,
    role: str | Sequence[str] | None,
    *,
    labelled: bool = True,
    task: Task = "classification",
) -> Rows:
    """Read the rows of roles (None: all), without those that have no label unless told."""
    table = read_roles(roles)
    labels = (labels_of if task == "classification" else targets_of)(table, dataset)
    at = of(table, dataset, role)
    rows = Rows(positions=at, labels=labels[at], groups=groups_of(table, dataset)[at])
    return rows.labelled() if labelled else rows


@dataclass(frozen=True, slots=True)
class Side:
    """The folder of one side's predictions."""

    outputs: Path

    def labels(self, name: str, rows: Rows) -> "NDArray[Any] | None":
        """Return the label given to each row; None where the model could not take the tensors."""
        labels: NDArray[Any] | None = self._of(f"{name}.labels.npy", rows)
        return labels

    def raw(self, name: str, rows: Rows) -> "NDArray[np.float32] | None":
        """Return the raw outputs (rows, ...); None where the model could not take the tensors."""
        outputs: NDArray[np.float32] | None = self._of(f"{name}.npy", rows)
        return outputs

    def must(self, name: str, rows: Rows) -> "NDArray[Any]":
        """Return the label given to each row, of tensors that this side made itself."""
        given = self.labels(name, rows)
        if given is None or not len(rows):
            raise InputFault(f"{self.outputs} has no answers to {name}; see the report beside it.")
        return given

    def scores(
        self, name: str, rows: Rows, metric: Metric, tolerance: float = 0.0
    ) -> "NDArray[np.float64]":
        """Score each row: all wrong where the model could not take the tensors.

        Args:
            name: of the set.
            rows: with what is right.
            metric: of the scores.
            tolerance: of an agreement between numbers.
        """
        from assay.scores import scores, within

        given = self.labels(name, rows)
        if metric.name == "agreement" and rows.labels.dtype.kind == "f":
            return within(given, rows.labels, tolerance)
        return scores(metric.name, given, rows.labels)

    def _of(self, file: str, rows: Rows) -> Any:
        path = self.outputs / file
        return open_tensor(path)[rows.positions] if path.exists() else None


def why_unknown(report: PredictReport, name: str) -> str | None:
    """Say why nobody knows a side's answers to a set; None: they are known.

    A model that runs and fails is known to give none, which is wrong; a recording that does not
    hold them says nothing about them.
    """
    said = report.absent.get(name) or report.errors.get(name, "")
    if name in report.absent or said.startswith(RECORDED):
        return said.removeprefix(RECORDED).strip() or "nobody recorded them."
    known = name in report.sets or name in report.errors
    return None if known else "the model was not asked."


def answered(rows: Rows, side: Side, report: PredictReport, name: str) -> Rows:
    """Leave out the rows for which a recording holds no answer."""
    given = side.labels(name, rows)
    return rows if report.model != "recorded" or given is None else rows.only(is_known(given))


@dataclass(frozen=True, slots=True, kw_only=True)
class Differ:
    """Whether two sides answer differently on the same rows."""

    labels: bool
    raw: bool | None  # None: not known, as no side's raw outputs were recorded


def sides_differ(
    reference: Side, candidate: Side, sets: Sequence[str], rows: Rows, tolerance: float
) -> Differ:
    """Compare the models on the tensors that both were given, or else the sides as a whole.

    Args:
        reference: one side.
        candidate: the other.
        sets: of which the answers of both are known, be it that there are none.
        rows: to compare.
        tolerance: raw outputs, and labels that are numbers, this near are the same.
    """
    labels = raw = False
    known = True
    for ours, theirs in [(name, name) for name in sets] or [TENSORS]:
        given = reference.labels(ours, rows), candidate.labels(theirs, rows)
        outputs = reference.raw(ours, rows), candidate.raw(theirs, rows)
        labels |= not alike(*given, tolerance)
        raw |= not alike(*outputs, tolerance)
        known &= all(
            (one is None) == (two is None) for one, two in zip(given, outputs, strict=True)
        )
    return Differ(labels=labels, raw=raw if known else None)


def alike(ours: Any, theirs: Any, tolerance: float) -> bool:
    """Tell whether answers are the same: classes exactly, numbers within the tolerance."""
    import numpy as np

    if ours is None or theirs is None:
        return ours is theirs
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind in "iu":
        return bool((ours == theirs).all())
    return bool(np.allclose(ours, theirs, rtol=0, atol=tolerance, equal_nan=True))
