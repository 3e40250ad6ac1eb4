"""What differs between the sides beside the numbers: packages, weights, precision, code."""

from collections.abc import Mapping
from typing import Any

from stages.reports.environments import Difference
from stages.reports.page import Answer
from stages.reports.parity import ParityReport
from stages.reports.since import SinceReport
from stages.section import Files, Section

SIDES = {"reference": "the reference", "candidate": "the candidate", "last_good": "what worked"}
WEIGHTS = {"numbers": "likely", "perhaps": "perhaps", "unlikely": "hardly"}
VALUES = {True: "values are equal", False: "values differ", None: "its values were not compared"}
MOST = 12  # rows of a table before the rest is folded


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Put what may change numbers first; what hardly does is folded."""
    pairs = []
    for pair in answer.environments.pairs:
        likely = [one for one in pair.differences if one.weight != "unlikely"]
        shown, measured = likely[:MOST], _measured(answer, pair.left)
        pairs.append(
            {
                "title": f"From {SIDES[pair.left]} to {SIDES[pair.right]}",
                "left": SIDES[pair.left],
                "right": SIDES[pair.right],
                "shown": [(one, _says(one, measured)) for one in shown],
                "folded": [
                    (one, _says(one, measured)) for one in pair.differences if one not in shown
                ],
                "not_compared": pair.not_compared,
            }
        )
    return {"pairs": pairs}


def _measured(answer: Answer, left: str) -> Mapping[str, bool]:
    """Return of which steps it is known whether the values that they make are equal.

    Each step by itself; of the chain only up to its first difference, which what follows inherits.
    """
    found = answer.parity if left == "reference" else answer.since
    if not isinstance(found, ParityReport | SinceReport):
        return {}
    first = found.first_differing_step
    known = {one.step: one.equal for one in found.chain if one.equal or one.step == first}
    own = found.own if isinstance(found, ParityReport) else []
    return known | {one.step: one.equal for one in own}


def _says(one: Difference, measured: Mapping[str, bool]) -> str:
    """Say whether numbers change with it: of a step as measured, of all else as is known of it."""
    if one.topic != "step":
        return WEIGHTS[one.weight]
    name, _, part = one.what.removeprefix("step ").partition(", ")
    if part == "renamed":
        return WEIGHTS[one.weight]
    kind = "arguments differ" if part == "its arguments" else "code differs"
    if one.left is None or one.right is None:
        kind = "one side has it"
    return f"{kind}, {VALUES[measured.get(name)]}"


SECTION = Section("environments", view)
