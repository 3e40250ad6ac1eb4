"""One domain's rows under comparison: what the layers answered to them, read in bounded pieces."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

BLOCK = 8192  # rows at a time
LINES = 100_000  # of roles.csv at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRows:
    """The rows whose answers are finite in every layer; labels and groups are theirs."""

    files: dict[str, Path]  # layer -> (rows, width)
    finite: "NDArray[np.bool_]"  # of all rows in the files
    labels: "NDArray[Any]"  # texts
    groups: "NDArray[np.intp]"  # 0, 1, ... in the order of their names

    def __len__(self) -> int:
        """Count the rows under comparison."""
        return len(self.groups)

    @property
    def num_not_finite(self) -> int:
        """How many rows were left out."""
        return len(self.finite) - len(self)

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0

    def take(self, layer: str, at: "NDArray[np.intp]") -> "NDArray[np.float32]":
        """Return some rows' answers."""
        import numpy as np

        from sides.tensors import RowReader

        return RowReader(self.files[layer]).take(np.flatnonzero(self.finite)[at].tolist())

    def blocks(self, layer: str) -> "Iterator[NDArray[np.float32]]":
        """Yield all rows' answers in order, some at a time."""
        for start, block in _blocks(self.files[layer]):
            yield block[self.finite[start : start + BLOCK]]


def read_rows(layers: Path, roles: Path, read: dict[str, Any], name: str) -> FeatureRows:
    """Find the rows of one domain.

    Args:
        layers: the folder that `predict` wrote, see `stages.reports.predict`.
        roles: roles.csv.
        read: what stands in the folder's layers.json.
        name: sim or real.
    """
    import numpy as np
    import pandas as pd

    from stages.dataset import own_group

    files = {layer: layers / f"{read['files'][layer]}.{name}.npy" for layer in read["layers"]}
    finite = np.ones(len(read[name]), dtype=np.bool_)
    for path in files.values():
        for start, block in _blocks(path):
            finite[start : start + BLOCK] &= np.isfinite(block).all(axis=1)
    own = _lines(roles, name).iloc[np.array(read[name], dtype=np.int64)[finite]]
    return FeatureRows(
        files=files,
        finite=finite,
        labels=own["label"].to_numpy(dtype=object),
        groups=pd.factorize(own_group(own), sort=True)[0],
    )


def _lines(roles: Path, name: str) -> "pd.DataFrame":
    """Read one domain's lines, some at a time: text takes more memory than what is kept of it."""
    import pandas as pd

    pieces = pd.read_csv(
        roles,
        usecols=["dataset", "id", "label", "group"],
        dtype=str,
        keep_default_na=False,
        encoding="utf-8-sig",
        chunksize=LINES,
    )
    with pieces:
        own: pd.DataFrame = pd.concat([piece[piece["dataset"] == name] for piece in pieces])
    return own


def _blocks(path: Path) -> "Iterator[tuple[int, NDArray[np.float32]]]":
    from sides.tensors import RowReader

    reader = RowReader(path)  # plain reads: pages of a map count as the process's own
    for start in range(0, len(reader), BLOCK):
        yield start, reader.read(start, start + BLOCK)
