"""Both models on the same tensors: layer by layer, in other arrangements, and their rules."""

from collections.abc import Mapping
from typing import Any

from stages.reports.page import Answer
from stages.reports.runtime import Arrangement, OutputPair, RuntimeReport, SideInvariance
from stages.section import Files, Section

ARRANGED = {
    "twice": "the same batch twice",
    "alone": "each row by itself",
    "halves": "in two batches",
    "sorted": "a batch to each predicted class",
    "repeated": "at the end of a full batch",
}
RELATIONS = {
    "equal": "equal",
    "close": "equal but for small errors",
    "unknown": "another function of the same tensors",
    "row_shift": "equal up to a number a row, which no softmax sees",
}
RULES = {
    True: "both rules make the same labels of the same outputs",
    False: "the rules make other labels of the same outputs",
    None: "not compared",
}
ROUNDING = 1e-4  # of the rows' spread: other kernels for another size of batch
ONE = 0.01


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any]:  # noqa: ARG001  every section has them
    """Draw the layers; put the arrangements of both sides into one table."""
    from stages import plots_runtime
    from stages.page_view import drawn

    found = answer.runtime
    if not isinstance(found, RuntimeReport):
        return {"runtime": found, "chart": None}
    return {
        "runtime": found,
        "chart": drawn(plots_runtime.layer_errors(found)) if found.layers else None,
        "first": next((one for one in found.layers if one.layer == found.first_layer), None),
        "arrangements": _arrangements(found.invariance),
        "why_not_asked": [f"{one.side}: {one.why_not}" for one in found.invariance if one.why_not],
        "training": [one for one in found.invariance if one.training],
        "outputs": None if found.outputs is None else _outputs(found.outputs),
        "rules": RULES[found.same_postprocess],
        "operators": [
            one for one in found.layers if one.operator[0] != one.operator[1] and all(one.operator)
        ],
    }


def _arrangements(sides: list[SideInvariance]) -> list[tuple[str, list[str], bool]]:
    """Return what was asked, both sides' words, and whether a side moved."""
    told = []
    for name, words in ARRANGED.items():
        cells = [next((it for it in one.arrangements if it.name == name), None) for one in sides]
        if any(cells):
            told.append((words, [_cell(one) for one in cells], any(map(_moved, cells))))
    return told


def _cell(one: Arrangement | None) -> str:
    if one is None:
        return "not asked"
    if one.largest is None:
        return one.error or "not finite"
    size = "equal" if one.largest < ROUNDING else f"{_percent(one.largest)} of the rows' spread"
    return size if not one.changed else f"{size}, {100 * one.changed:.0f} % other labels"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= ONE else f"{100 * share:.2g} %"


def _moved(one: Arrangement | None) -> bool:
    return one is not None and (one.error is not None or bool(one.changed))


def _outputs(pair: OutputPair) -> str:
    told = RELATIONS.get(pair.relation, pair.says)
    if pair.relative_error:
        told += f"; they differ by {_percent(pair.relative_error)} of their spread"
        if pair.share_labels is not None:
            told += f", and {100 * pair.share_labels:.3g} % of {pair.rows} labels do"
    return told + (f"; the candidate's numbers are {pair.precision}" if pair.precision else "")


SECTION = Section("runtime", view)
