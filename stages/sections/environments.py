"""What differs between the sides beside the numbers: packages, weights, precision, code."""

from collections.abc import Mapping
from typing import Any

from stages.reports.page import Answer
from stages.section import Files, Section

SIDES = {"reference": "the reference", "candidate": "the candidate", "last_good": "what worked"}
WEIGHTS = {"numbers": "changes numbers", "perhaps": "may", "unlikely": "unlikely to"}
MOST = 12  # rows of a table before the rest is folded


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Put what may change numbers first; what hardly does is folded."""
    pairs = []
    for pair in answer.environments.pairs:
        likely = [one for one in pair.differences if one.weight != "unlikely"]
        shown = likely[:MOST]
        pairs.append(
            {
                "title": f"From {SIDES[pair.left]} to {SIDES[pair.right]}",
                "left": SIDES[pair.left],
                "right": SIDES[pair.right],
                "shown": shown,
                "folded": [one for one in pair.differences if one not in shown],
                "not_compared": pair.not_compared,
            }
        )
    return {"pairs": pairs, "weights": WEIGHTS}


SECTION = Section("environments", view)
