"""`assay new`: a case from a model and data as they are."""

import sys
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from flows.faults import Faults
from flows.investigation import Say
from flows.scaffold.asked import WANTED, Asked, missing, with_flags
from flows.scaffold.case_text import Described


def new(case: str, stated: dict[str, Any], say: Say) -> Answer:
    """Scaffold a case, and say what was found, what was written, and what comes next.

    Raises:
        Faults: something is missing or cannot be used; nothing is left behind.
    """
    try:
        import numpy as np
        import pandas as pd
        import pyarrow as pa
        from PIL import Image
    except ImportError as error:
        told = f"assay new reads data with {error.name}, which is not here"
        raise Faults(f"{told}. Set up the workspace: make setup") from None
    del np, pd, pa, Image
    from flows.scaffold.new_case import make

    root = workspace.find(Path.cwd())
    asked = Asked(name=case, **stated)
    if sys.stdin.isatty():
        asked = _ask(asked)
    said = make(asked, root, say)
    return _data(said), "\n".join(_lines(said)), 0


def _ask(asked: Asked) -> Asked:
    """Ask at the terminal for what is missing; an empty answer leaves it missing."""
    import click

    told: dict[str, Any] = {}
    for _ in WANTED:
        asked = with_flags(asked, told)
        left = [flag for flag in missing(asked) if flag not in told]
        if not left:
            break
        flag = left[0]
        answer = click.prompt(f"--{flag}, {WANTED[flag]}", default="", show_default=False, err=True)
        told[flag] = answer.strip() or None
    return with_flags(asked, told)


def _written(said: Described) -> list[str]:
    folder = f"cases/{said.asked.name}"
    data = [f"data/{name}" for name in said.sets]
    files = ["case.yaml", "README.md", "code", *data]
    files += [] if said.code.train else ["weights"]
    files += ["recorded"] if said.asked.recorded else []
    named = [f"{folder}/{file}" for file in files]
    return [*named, f"data_contracts/{said.asked.contract_name}.yaml"]


def _next(said: Described) -> list[str]:
    name, contract = said.asked.name, said.asked.contract_name
    if said.asked.dry_run:
        return ["the same command without --dry-run"]
    return [
        f"assay check {name}",
        f"assay run {name}",
        f"assay plan && git add cases/{name} data_contracts/{contract}.yaml dvc.yaml && git commit",
    ]


def _data(said: Described) -> dict[str, Any]:
    sets = {}
    for name, taken in said.sets.items():
        facts = said.facts[name]
        sets[name] = {
            "from": said.sources[name].told,
            "kind": taken.kind,
            "rows": taken.rows,
            "labelled": taken.labelled,
            "groups": taken.groups,
            "dtypes": list(facts.dtypes),
            "features": list(taken.features) if taken.features else None,
            "shapes": [list(shape) for shape in facts.shapes],
            "num_unreadable": len(facts.unreadable),
            "notes": taken.notes,
        }
    return {
        "case": said.asked.name,
        "sets": sets,
        "classes": list(said.classes.names) if said.classes else None,
        "differences": said.differences,
        "beginnings": said.code.written,
        "in_dvc": said.in_dvc,
        "written": [] if said.asked.dry_run else _written(said),
        "dry_run": said.asked.dry_run,
        "next": _next(said),
    }


def _lines(said: Described) -> list[str]:
    lines = []
    for name, taken in said.sets.items():
        facts = said.facts[name]
        groups = f"{taken.groups} groups" if taken.groups else "no groups"
        counts = f"{taken.rows} rows, {taken.labelled} labelled, {groups}"
        kinds = f"{', '.join(facts.dtypes)} {facts.shape_text()}"
        lines.append(f"{name:<9}{taken.kind}: {counts}, {kinds}")
        lines += [f"{'':<9}- {note}" for note in taken.notes]
    if said.classes:
        told = [f"{number} {label}" for number, label in enumerate(said.classes.names)]
        names = f": {', '.join(told[:12])}" if said.classes.renamed else ""
        lines.append(f"{'classes':<9}{len(told)}{names} ({said.classes.origin})")
    lines += [f"{'differs':<9}{line}" for line in said.differences]
    if said.code.written:
        lines.append(f"{'begun':<9}{', '.join(said.code.written)}: working code, yours to replace")
    word = "planned" if said.asked.dry_run else "written"
    lines.append(f"{word:<9}{', '.join(_written(said))}")
    lines += [f"{'in DVC':<9}{', '.join(said.in_dvc)}"] if said.in_dvc else []
    return [*lines, *(f"{'next':<9}{command}" for command in _next(said))]
