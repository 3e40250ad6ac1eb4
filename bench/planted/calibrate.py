"""Fits the confidence of answers to the part of the cases that is for it, and writes it down."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.planted import sources
from bench.planted.score import Record, is_component, is_kind

TARGET = Path(__file__).resolve().parents[2] / "assay" / "posterior_fit.py"
HEAD = '''"""Coefficients of `assay.posterior`, by the names of `assay.weighing`.

Fitted by `python -m bench planted calibrate` to {num} answers of {cases} planted cases.
"""

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, float] = {{
'''


def run(records: Sequence[Record]) -> int:
    """Fit and write assay/posterior_fit.py; 3 where there is nothing to fit to."""
    sources.kinds()
    figures, right, weights, cases = answers(records)
    if not figures:
        print("No case of part `calibrate` was examined yet. Run: python -m bench planted")
        return 3
    from assay.posterior import fit

    found = fit(figures, right, weights=weights)
    lines = "".join(f'    "{name}": {value},\n' for name, value in found.items())
    head = HEAD.format(num=len(figures), cases=cases)
    TARGET.write_text(f"{head}{lines}}}\n", encoding="utf-8")
    print(f"fitted {len(found)} coefficients to {len(figures)} answers of {cases} cases: {TARGET}")
    return 0


def answers(
    records: Sequence[Record],
) -> tuple[list[Mapping[str, float]], list[bool], list[float], int]:
    """Return each answer's figures, whether it was planted, its weight, and how many cases."""
    figures: list[Mapping[str, float]] = []
    right: list[bool] = []
    weights: list[float] = []
    cases = 0
    for record in records:
        weighed = record.get("answer", {}).get("weighed", [])
        if record["part"] != "calibrate" or not record.get("counted") or not weighed:
            continue
        cases += 1
        for component, kind, own in weighed:
            figures.append(own)
            right.append(_was_planted(record, component, kind))
            weights.append(1.0)
    return figures, right, weights, cases


def _was_planted(record: Mapping[str, Any], component: str, kind: str) -> bool:
    if record["group"] == "null":
        return component == "none"
    return any(
        is_component(p, component) and is_kind(p, component, kind) for p in record["planted"]
    )
