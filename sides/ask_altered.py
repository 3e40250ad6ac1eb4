"""Runs the reference's own model over altered tensors, in its own image."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from sides.case_code import CaseCodeError, calling
from sides.model import opened
from sides.rules import rule_of
from sides.slots import save
from sides.tensors import RowReader, RowWriter

if TYPE_CHECKING:
    from pathlib import Path

    from sides.model import Model
    from sides.rules import Rule


def run(params: Dict[str, Any], inputs: Dict[str, Optional[Path]], into: Path, side: str) -> None:
    """Write report.json and outputs/ as `stages.reports.alter` says."""
    folder = into / "outputs"
    folder.mkdir()
    tensors = inputs["tensors"]
    assert tensors is not None  # noqa: S101  the stage declares it
    keys: List[str] = json.loads((tensors / "keys.json").read_text(encoding="utf-8"))
    counts: Dict[str, int] = {}
    errors: Dict[str, str] = {}
    weights = inputs["weights"] or inputs["model"]
    if keys and weights is None:
        raise CaseCodeError(f"{side}.weights: there are none.")
    if keys and weights is not None:
        with opened(params["model"], f"{side}.model", weights, "cpu") as model:
            rule = rule_of(params["postprocess"], params["task"], side, model.what)
            for key in keys:
                reader = RowReader(tensors / f"{key}.npy")
                try:
                    _ask(model, rule, reader, folder / key, params["batch"])
                    counts[key] = len(reader)
                except CaseCodeError as error:
                    errors[key] = str(error)
    save(into / "report.json", {"schema_version": 1, "sets": counts, "errors": errors})
    # A list of what is there: DVC does not keep an empty folder.
    save(folder / "keys.json", sorted(counts))


def _ask(model: Model, rule: Rule, tensors: RowReader, stem: Path, batch: int) -> None:
    outputs = RowWriter(stem.with_name(stem.name + ".npy"), len(tensors))
    labels = RowWriter(stem.with_name(stem.name + ".labels.npy"), len(tensors), rule.dtype)
    with outputs, labels:
        try:
            for start in range(0, len(tensors), batch):
                raw = model.ask(tensors.read(start, start + batch))
                with calling(model.what):
                    outputs.write(raw)
                labels.write(rule.label(raw))
        except CaseCodeError:
            outputs.drop()
            labels.drop()
            raise
