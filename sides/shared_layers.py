"""What a side's model does layer by layer with the reference's tensors: both sides get the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

import numpy as np

from sides import privacy
from sides.case_code import CaseCodeError, calling
from sides.layers import NoLayers, files
from sides.watching import joined, watching

if TYPE_CHECKING:
    from pathlib import Path

    from sides.model import Model
    from sides.rows import Row
    from sides.tensors import RowReader
    from sides.watching import Seen

MOST_ROWS = 64
ROLES = ("diagnose", "unlabelled")  # what fits or proves a repair is not looked at


def chosen(real: Sequence[Row]) -> List[int]:
    """Return positions of real rows that both sides' models are given: evenly spaced."""
    rows = [at for at, row in enumerate(real) if row.role in ROLES]
    spaced = np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).round().astype(int)
    return [rows[at] for at in spaced]


def record(folder: Path, model: Model, tensors: RowReader, rows: List[int], batch: int) -> None:
    """Write `<layer>.shared.npy` and the key `shared` of layers.json, which is there already."""
    seen: List[Seen] = []
    why_not: Optional[str] = None
    if not rows or not len(tensors):
        why_not = "There are no real rows of role diagnose or unlabelled."
    else:
        try:
            seen = _seen(model, tensors, rows, min(batch, MOST_ROWS))
        except NoLayers as error:
            why_not = str(error)
        except CaseCodeError as error:  # the other side's tensors need not fit
            why_not = str(error).splitlines()[0] if privacy.is_private() else str(error)
    names = files([one.name for one in seen])
    for one in seen:
        np.save(str(folder / f"{names[one.name]}.shared.npy"), one.pooled)
    save(folder, rows, seen, names, why_not)


def save(
    folder: Path, rows: List[int], seen: Sequence[Seen], names: Dict[str, str], why_not: Any
) -> None:
    """Add the key `shared` to layers.json."""
    content = json.loads((folder / "layers.json").read_text(encoding="utf-8"))
    content["shared"] = {
        "rows": rows if seen else [],
        "layers": [one.name for one in seen],
        "files": names,
        "operators": {one.name: one.operator for one in seen},
        "range": {
            one.name: {"max_abs": one.max_abs, "num_not_finite": one.num_not_finite} for one in seen
        },
        "why_not": why_not,
    }
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    (folder / "layers.json").write_text(text, encoding="utf-8")


def _seen(model: Model, tensors: RowReader, rows: List[int], batch: int) -> List[Seen]:
    starts = range(0, len(rows), batch)
    with watching(model) as watch, calling(model.what):
        parts = [watch(tensors.take(rows[start : start + batch])) for start in starts]
    found = joined(parts, len(rows))
    if not found:
        raise NoLayers("No layer of the model answers a tensor with rows.")
    return found
