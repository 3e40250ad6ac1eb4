"""What one set looks like: the figures that a contract's bounds are drawn from."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.dataset import SAMPLES
from stages.sample_table import PICTURES, sample_table

NUM_SHOWN = 3
FLAT = 2  # axes: rows, columns
MAX_COLUMNS = 1000
BLOCK_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacts:
    """One set, counted. Shares are of its rows."""

    name: str
    num_rows: int
    dtypes: dict[str, int]  # of readable samples, the commonest first
    shapes: dict[tuple[int, ...], int]  # the same
    lows: tuple[float, ...]  # the least finite number of each sample that has one
    highs: tuple[float, ...]
    finite_shares: tuple[float, ...]  # of each sample of numbers
    duplicate_share: float  # of the readable rows: another has the same content
    labels: dict[str, int]
    groups: int
    no_label: int  # rows without one
    no_group: int
    suffixes: dict[str, int]  # of the samples that are files
    unreadable: tuple[tuple[str, str], ...]  # id, why
    columns: tuple[tuple[float, float], ...] = ()  # of flat samples: least and greatest, by place

    @property
    def span(self) -> tuple[float, float] | None:
        """The least and the greatest finite number; None where there is no number."""
        return (min(self.lows), max(self.highs)) if self.lows else None

    @property
    def are_pictures(self) -> bool:
        """Tell whether its samples are picture files."""
        return bool(self.suffixes) and next(iter(self.suffixes)) in PICTURES

    def breaches_of_range(self, low: float, high: float) -> int:
        """Count the samples that a range does not hold."""
        pairs = zip(self.lows, self.highs, strict=True)
        return sum(1 for least, most in pairs if least < low or most > high)

    def shape_text(self) -> str:
        """Return the shapes for a person: 28x28, or the commonest of several."""
        if not self.shapes:
            return "no shape"
        first = "x".join(map(str, next(iter(self.shapes))))
        more = len(self.shapes) - 1
        return f"{first} and {more} other shapes" if more else first

    def unreadable_text(self) -> str:
        """Name the first samples that cannot be read; '' when all can."""
        named = [f"{name} ({why})" for name, why in self.unreadable[:NUM_SHOWN]]
        more = len(self.unreadable) - NUM_SHOWN
        return "; ".join(named) + (f" and {more} more" if more > 0 else "")


def set_facts(folder: Path, name: str) -> SetFacts:
    """Read one dataset folder, sample by sample."""
    table = sample_table(folder)
    rows: list[Any] = table.to_dict("records")
    readable = [row for row in rows if row["sample_readable"]]
    digests = Counter(row["sample_digest"] for row in readable)
    twice = sum(1 for row in readable if digests[row["sample_digest"]] > 1)
    # A sample without a finite number has a NaN or None there.
    finite = [row for row in readable if _is_number(row["sample_min"])]
    return SetFacts(
        name=name,
        num_rows=len(rows),
        dtypes=_counted(row["sample_dtype"] for row in readable),
        shapes=_counted(_shape(row["sample_shape"]) for row in readable),
        lows=tuple(float(row["sample_min"]) for row in finite),
        highs=tuple(float(row["sample_max"]) for row in finite),
        finite_shares=tuple(
            float(row["sample_finite_share"])
            for row in readable
            if _is_number(row["sample_finite_share"])
        ),
        duplicate_share=twice / len(readable) if readable else 0.0,
        labels=_counted(row["label"] for row in rows if row["label"]),
        groups=len({row["group"] for row in rows if row["group"]}),
        no_label=sum(1 for row in rows if not row["label"]),
        no_group=sum(1 for row in rows if not row["group"]),
        suffixes=_counted(Path(row["path"]).suffix.lower() for row in rows if row.get("path")),
        unreadable=tuple(
            (str(row["id"]), str(row["sample_fault"])) for row in rows if not row["sample_readable"]
        ),
        columns=_column_spans(folder, rows),
    )


def _column_spans(folder: Path, rows: list[Any]) -> tuple[tuple[float, float], ...]:
    """Return each column's finite span; nothing where samples are no rows of one flat array."""
    import numpy as np

    if not (folder / SAMPLES).is_file() or not all(row["row"] for row in rows):
        return ()
    array = np.load(folder / SAMPLES, mmap_mode="r", allow_pickle=False)
    if array.ndim != FLAT or array.shape[1] > MAX_COLUMNS:
        return ()
    low, high = np.full(array.shape[1], np.inf), np.full(array.shape[1], -np.inf)
    places = np.array([int(row["row"]) for row in rows])
    for block in np.array_split(places, max(1, len(places) // BLOCK_ROWS)):
        values = array[block].astype(np.float64)
        finite = np.isfinite(values)
        low = np.minimum(low, np.where(finite, values, np.inf).min(axis=0))
        high = np.maximum(high, np.where(finite, values, -np.inf).max(axis=0))
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def _is_number(value: Any) -> bool:
    return value is not None and value == value  # noqa: PLR0124  NaN


def _counted(values: Any) -> dict[Any, int]:
    return dict(Counter(values).most_common())


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(axis) for axis in text.split("x") if axis)
