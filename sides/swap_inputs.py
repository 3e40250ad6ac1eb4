"""Writes the reference's values around each step that is to be exchanged, in its own image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

from sides.records import RecordWriter
from sides.rows import Samples, read_roles
from sides.slots import UNPAIRED, Chain, chain_of, close, read, save
from sides.steps import apply_copy, loaded

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def run(params: Dict[str, Any], inputs: Dict[str, Path], into: Path, side: str) -> None:
    """Write report.json and values/ as `stages.reports.swap` says."""
    folder = into / "values"
    folder.mkdir()
    chain = chain_of(params)
    why_not = read(inputs["candidate"])["why_not"] or (UNPAIRED if chain is None else None)
    report: Dict[str, Any] = {"schema_version": 1}
    indices: List[int] = []
    if chain is None or why_not:
        report["not_applicable"] = why_not
    else:
        indices = _exchanged(chain, params, inputs)
        report.update({"atol": params["atol"], "rtol": params["rtol"]})
        report["slots"] = [_slot(chain, index) for index in indices]
        _write(chain, indices, inputs, folder, side)
    save(into / "report.json", report)
    # A list of what is there: DVC does not keep an empty folder.
    save(folder / "keys.json", [] if chain is None else [chain.slots[i].key for i in indices])


def _slot(chain: Chain, index: int) -> Dict[str, Any]:
    slot = chain.slots[index]
    raw = chain.is_raw(index)
    return {
        "key": slot.key,
        "name": slot.name,
        "index": index,
        "stated": chain.is_stated(index),
        "before": None if raw else f"{slot.key}.before.npys",
        "after": None if raw and slot.reference is None else f"{slot.key}.after.npys",
    }


def _exchanged(chain: Chain, params: Dict[str, Any], inputs: Dict[str, Path]) -> List[int]:
    """Return the slots that differ as stated, and those that another image may make differ.

    The same step in another image is left alone where it made the same of all paired rows.
    """
    elsewhere = params["reference_image"] != params["candidate_image"]
    return [
        index
        for index in range(len(chain.slots))
        if chain.is_stated(index) or (elsewhere and not _same(chain, index, params, inputs))
    ]


def _same(chain: Chain, index: int, params: Dict[str, Any], inputs: Dict[str, Path]) -> bool:
    slot = chain.slots[index]
    made = []
    for name, position in (("reference", slot.reference), ("candidate", slot.candidate)):
        steps = read(inputs[name])["steps"]
        if not steps or position is None:
            return False
        made.append(_outputs(inputs[f"{name}_steps"] / steps[position]["file"]))
    return len(made[0]) == len(made[1]) and all(
        close(left, right, params["atol"], params["rtol"])
        for left, right in zip(*made)  # noqa: B905  Python 3.9 knows no strict
    )


def _outputs(path: Path) -> List[NDArray[Any]]:
    if path.suffix == ".npy":
        return list(np.load(str(path), allow_pickle=False))
    with np.load(str(path), allow_pickle=False) as arrays:
        return [arrays[str(i)] for i in range(len(arrays.files))]


def _write(
    chain: Chain, indices: List[int], inputs: Dict[str, Path], folder: Path, side: str
) -> None:
    """Go once over the rows; the reference's values up to a slot are computed once and shared."""
    if not indices:
        return
    rows, samples = read_roles(inputs["roles"], "real"), Samples(inputs["real"])
    paired = set(read(inputs["reference"])["paired"])
    slots = [_slot(chain, index) for index in indices]
    needed = [s for s in chain.slots[: indices[-1] + 1] if s.reference is not None]
    steps = [chain.reference[slot.reference] for slot in needed if slot.reference is not None]
    writers = {
        s[end]: RecordWriter(folder / s[end])
        for s in slots
        for end in ("before", "after")
        if s[end]
    }
    try:
        with loaded(side, steps) as functions:
            for number, row in enumerate(rows):
                value: Any = samples.raw(row)
                passed = [value]
                own = iter(functions)
                for slot in chain.slots[: indices[-1] + 1]:
                    if slot.reference is not None:
                        value = apply_copy(next(own), value, number, row.id)
                    passed.append(value)
                for s in slots:
                    if s["before"]:
                        writers[s["before"]].write(passed[s["index"]])
                    if s["after"] and row.id in paired:
                        writers[s["after"]].write(passed[s["index"] + 1])
    finally:
        for writer in writers.values():
            writer.close()
