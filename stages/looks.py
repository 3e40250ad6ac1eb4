"""Which held-out rows were looked at, and what was answered to them: the entry of a ledger."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.spending import spent_on
from stages.dataset import read_roles
from stages.reports.gate import Look

if TYPE_CHECKING:
    from numpy.typing import NDArray


def look_at(
    roles: Path,
    answers: "NDArray[Any] | None",
    number: int | None,
    total: float,
    *,
    named: bool = True,
) -> Look:
    """Name the rows by a hash of their ids and labels, and the answers by one of their bytes.

    Args:
        roles: roles.csv.
        answers: (rows,) of the candidate to the labelled rows that prove; None: nobody knows.
        number: which look it is; None: nobody keeps count, and this one may spend all.
        total: the error of all looks together.
        named: rows go by their ids; else by their place: a hash of a name is found by trying names.
    """
    import numpy as np

    table = read_roles(roles)
    proving = table[(table["dataset"] == "real") & (table["role"] == "prove")]
    rows = proving["id" if named else "row"]
    lines = sorted(f"{row},{label}" for row, label in zip(rows, proving["label"], strict=True))
    said = b"" if answers is None else np.ascontiguousarray(answers).tobytes()
    return Look(
        number=number,
        alpha=total if number is None else spent_on(number, total),
        total=total,
        rows=sha256("\n".join(lines).encode()).hexdigest(),
        answers=sha256(said).hexdigest() if said else "",
    )
