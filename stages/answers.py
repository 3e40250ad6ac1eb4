"""Who said what: the rows of a role with their labels, and what the sides answered for them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.dataset import UNLABELLED, groups_of, labels_of, of, open_tensor, read_roles
from stages.stage import InputFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TENSORS = ("real-reference", "real-candidate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of one dataset, in the order of its tensors."""

    positions: "NDArray[np.int64]"  # (rows,) in the tensors of their dataset
    labels: "NDArray[np.int64]"  # (rows,) UNLABELLED where there is none
    groups: "NDArray[Any]"  # (rows,)

    def __len__(self) -> int:
        """How many."""
        return len(self.positions)


def rows_of(roles: Path, dataset: str, role: str | None, *, labelled: bool = True) -> Rows:
    """Read the rows of a role (None: all), without those that have no label unless told."""
    table = read_roles(roles)
    labels = labels_of(table, dataset)
    positions = of(table, dataset, role)
    if labelled:
        positions = positions[labels[positions] != UNLABELLED]
    groups = groups_of(table, dataset)
    return Rows(positions=positions, labels=labels[positions], groups=groups[positions])


@dataclass(frozen=True, slots=True)
class Side:
    """The folder of one side's predictions."""

    outputs: Path

    def labels(self, name: str, rows: Rows) -> "NDArray[np.int64] | None":
        """Return the label given to each row; None where the model could not take the tensors."""
        labels: NDArray[np.int64] | None = self._of(f"{name}.labels.npy", rows)
        return labels

    def raw(self, name: str, rows: Rows) -> "NDArray[np.float32] | None":
        """Return the raw outputs (rows, ...); None where the model could not take the tensors."""
        outputs: NDArray[np.float32] | None = self._of(f"{name}.npy", rows)
        return outputs

    def must(self, name: str, rows: Rows) -> "NDArray[np.int64]":
        """Return the label given to each row, of tensors that this side made itself."""
        given = self.labels(name, rows)
        if given is None or not len(rows):
            raise InputFault(f"{self.outputs} has no answers to {name}; see the report beside it.")
        return given

    def right(self, name: str, rows: Rows) -> "NDArray[np.bool_]":
        """Tell which rows were answered right: none where the model could not take the tensors."""
        return _equal(self.labels(name, rows), rows.labels)

    def _of(self, file: str, rows: Rows) -> Any:
        path = self.outputs / file
        return open_tensor(path)[rows.positions] if path.exists() else None


def agree(reference: Side, candidate: Side, name: str, rows: Rows) -> "NDArray[np.bool_]":
    """Tell which rows both models give the same label, from the same tensors."""
    return _equal(candidate.labels(name, rows), reference.must(name, rows))


def _equal(given: "NDArray[np.int64] | None", wanted: "NDArray[np.int64]") -> "NDArray[np.bool_]":
    import numpy as np

    return np.zeros(len(wanted), np.bool_) if given is None else np.asarray(given == wanted)


def models_differ(reference: Side, candidate: Side, rows: Rows, atol: float) -> tuple[bool, bool]:
    """Tell whether the models differ on any of the same tensors: in labels, in raw outputs."""
    labels = raw = False
    for name in TENSORS:
        labels |= not _close(reference.labels(name, rows), candidate.labels(name, rows), 0.0)
        raw |= not _close(reference.raw(name, rows), candidate.raw(name, rows), atol)
    return labels, raw


def _close(ours: Any, theirs: Any, atol: float) -> bool:
    import numpy as np

    if ours is None or theirs is None:
        return ours is theirs
    same = ours.shape == theirs.shape
    return same and bool(np.allclose(ours, theirs, rtol=0, atol=atol, equal_nan=True))
