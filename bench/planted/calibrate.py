"""Fits the confidence of answers to the part of the cases that is for it, and writes it down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.planted import sources
from bench.planted.score import Record, is_component, is_kind

TARGET = Path(__file__).resolve().parents[2] / "assay" / "posterior_fit.py"
RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0)
LEAST = 1e-6
HEAD = '''"""Coefficients of `assay.posterior`, by the names of `assay.weighing`.

Fitted by `python -m bench planted calibrate` to {num} answers of {cases} planted cases, drawn to
`posterior_prior` with a ridge of {ridge}: of {ridges}, the best on data sets left out.
"""

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, float] = {{
'''


def run(records: Sequence[Record]) -> int:
    """Fit and write assay/posterior_fit.py; 3 where there is nothing to fit to."""
    sources.kinds()
    groups = answers(records)
    if not groups:
        print("No case of part `calibrate` was examined yet. Run: python -m bench planted")
        return 3
    from assay.posterior import fit

    losses = {ridge: _left_out(groups, ridge) for ridge in RIDGES}
    ridge = min(losses, key=lambda ridge: losses[ridge])
    whole = [one for group in groups.values() for one in group]
    found = fit([one.figures for one in whole], [one.right for one in whole], ridge=ridge)
    lines = "".join(f'    "{name}": {value},\n' for name, value in found.items())
    cases = len({one.case for one in whole})
    ridges = ", ".join(map(str, RIDGES))
    head = HEAD.format(num=len(whole), cases=cases, ridge=ridge, ridges=ridges)
    TARGET.write_text(f"{head}{lines}}}\n", encoding="utf-8")
    for one, loss in losses.items():
        print(f"ridge {one}: log loss {loss:.4f} on data sets left out")
    print(f"fitted {len(found)} coefficients to {len(whole)} answers of {cases} cases: {TARGET}")
    return 0


@dataclass(frozen=True, slots=True)
class Given:
    """One answer to one case."""

    case: str
    figures: Mapping[str, float]
    right: bool


def answers(records: Sequence[Record]) -> dict[str, list[Given]]:
    """Return the answers to the cases that count, by data set."""
    found: dict[str, list[Given]] = {}
    for record in records:
        if record["part"] != "calibrate" or not record.get("counted"):
            continue
        for component, kind, own in record.get("answer", {}).get("weighed", []):
            given = Given(record["id"], own, _was_planted(record, component, kind))
            found.setdefault(record["dataset"], []).append(given)
    return found


def _left_out(groups: Mapping[str, Sequence[Given]], ridge: float) -> float:
    """Return the log loss of each data set's answers under a fit to the others, over all."""
    from assay.posterior import confidence, fit

    losses: list[float] = []
    for name, own in groups.items():
        rest = [one for other, group in groups.items() if other != name for one in group]
        if not rest:
            continue
        found = fit([one.figures for one in rest], [one.right for one in rest], ridge=ridge)
        for one in own:
            stated = confidence(one.figures, found)
            losses.append(-log(max(stated if one.right else 1 - stated, LEAST)))
    return fmean(losses) if losses else 0.0


def _was_planted(record: Mapping[str, Any], component: str, kind: str) -> bool:
    if record["group"] == "null":
        return component == "none"
    return any(
        is_component(p, component) and is_kind(p, component, kind) for p in record["planted"]
    )
