"""What the page is made of: the case's stages from data to verdict, as its plan has them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.reports.page import Answer
from stages.section import Files, Section
from stages.stage import At

GRAPH = At("graph.json")
"""Generated beside dvc.yaml, which DVC lets no stage depend on."""

_END = "the verdict"


def view(answer: Answer, files: Files, shows_samples: bool) -> Mapping[str, Any] | None:  # noqa: ARG001  every section has them
    """Draw the graph of the plan. Which run, when and where stands in no page: it is the record's.

    The graph is an input of this stage, so that another graph makes another page.
    """
    from markupsafe import Markup

    from assay.layered import needed
    from stages.plots_graph import draw

    stages = _stages(files["graph"])
    if not stages:
        return None
    reads = {name: list(stage["reads"]) for name, stage in stages.items()}
    before = dict(needed(reads))
    kinds = {path: kind for stage in stages.values() for path, kind in stage["given"].items()}
    readers = {path: [one for one in stages if path in stages[one]["given"]] for path in kinds}
    for path, names in readers.items():
        for name in names:
            if not _above(name, reads) & set(names):
                before[name] = [path, *before[name]]
    boxes = {path: _box(path, kind) for path, kind in kinds.items()} | _boxes(answer, stages)
    if "gate" in stages:
        before[_END] = ["gate"]
    says = f"The {len(stages)} stages of {answer.case or 'the case'}, from data to verdict"
    # What is drawn of the plan is escaped as it is drawn.
    picture = Markup(draw(boxes, before, says, alone=False))  # noqa: S704
    given = [(path, kinds[path], names) for path, names in readers.items()]
    told = {name: before[name] for name in stages}
    return {"picture": picture, "given": given, "reads": told, "num_stages": len(stages)}


def _stages(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["stages"]
    return found


def _above(name: str, reads: Mapping[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*reads[name]]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += reads[one]
    return found


def _box(path: str, kind: str) -> Any:
    from stages.plots_graph import Box

    return Box(
        title=path.removeprefix("data_contracts/").removeprefix("cases/"),
        small=kind,
        kind="code" if kind == "code" else "data",
    )


def _boxes(answer: Answer, stages: Mapping[str, Any]) -> dict[str, Any]:
    from stages.plots_graph import Box

    boxes = {name: Box(title=name) for name in stages}
    verdict = {_END: Box(title=f"gate {answer.gate.verdict}", kind="end")}
    return boxes | (verdict if "gate" in stages else {})


SECTION = Section("lineage", view, {"graph": GRAPH})
