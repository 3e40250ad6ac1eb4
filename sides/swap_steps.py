"""Applies the candidate's step to the reference's values, in the candidate's own image."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional

from sides import privacy
from sides.case_code import CaseCodeError
from sides.recorded import Recording
from sides.records import RecordWriter, read_records
from sides.rows import Samples, read_roles
from sides.slots import Chain, chain_of, close, read, save, values
from sides.steps import apply_copy, load_step

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.rows import Row

OTHER_INPUT = (
    "recorded: what was logged of this step was made of another input than the reference's "
    "(sample %s), so that it does not say what the step does to the reference's."
)


class _Given(NamedTuple):
    """What all slots are made of."""

    chain: Chain
    report: Dict[str, Any]  # of swap_inputs
    folder: Path  # its values
    real: Path
    rows: List[Row]
    paired: List[int]  # positions
    recording: Optional[Recording]


def run(params: Dict[str, Any], inputs: Dict[str, Path], into: Path, side: str) -> None:
    """Write report.json and values/ as `stages.reports.swap` says."""
    (into / "values").mkdir()
    before = read(inputs["report"])
    report: Dict[str, Any] = {"schema_version": 1}
    slots: List[Dict[str, Any]] = []
    chain = chain_of(params)
    if chain is None or "not_applicable" in before:
        report["not_applicable"] = before["not_applicable"]
    else:
        rows = read_roles(inputs["roles"], "real")
        paired = set(read(inputs["reference"])["paired"])
        at = [number for number, row in enumerate(rows) if row.id in paired]
        recording = Recording(inputs["recorded"], side) if params["recorded"] else None
        given = _Given(chain, before, inputs["values"], inputs["real"], rows, at, recording)
        slots = [_slot(given, slot, into / "values", side) for slot in before["slots"]]
        report["slots"] = slots
    save(into / "report.json", report)
    save(
        into / "values" / "keys.json", [slot["key"] for slot in slots if slot["made"] == "records"]
    )


def _slot(given: _Given, slot: Dict[str, Any], folder: Path, side: str) -> Dict[str, Any]:
    """Make one slot's values; a step that fails is a finding and ends this slot alone."""
    found: Dict[str, Any] = {"key": slot["key"], "made": None, "error": None, "same": False}
    position = given.chain.slots[slot["index"]].candidate
    if position is None:  # exchanged, the reference's step is left out
        return {**found, "made": "before"}
    try:
        if not slot["stated"] or given.recording is not None:
            watched = [given.rows[at] for at in given.paired]
            made = list(_made(given, slot, position, side, watched))
            if made and _is_same(given, slot, made):
                return {**found, "same": True}
        with RecordWriter(folder / f"{slot['key']}.npys") as writer:
            try:
                for value in _made(given, slot, position, side, given.rows):
                    writer.write(value)
            except CaseCodeError:
                writer.drop()
                raise
    except CaseCodeError as error:
        return {**found, "error": str(error)}
    return {**found, "made": "records"}


def _is_same(given: _Given, slot: Dict[str, Any], made: List[NDArray[Any]]) -> bool:
    """Tell whether the step, which is stated alike, makes the same of all paired rows."""
    if slot["after"] is None:
        return False
    after = read_records(given.folder / slot["after"])
    tolerance = given.report["atol"], given.report["rtol"]
    return all(close(left, right, *tolerance) for left, right in zip(after, made))  # noqa: B905


def _made(
    given: _Given, slot: Dict[str, Any], position: int, side: str, wanted: List[Row]
) -> Iterator[Any]:
    """Yield what the candidate's step makes of the reference's value before it, row by row."""
    chosen = {row.id for row in wanted}
    before = values(given.folder, slot["before"], given.real, given.rows)
    numbered = zip(range(len(given.rows)), given.rows, before)  # noqa: B905
    if given.recording is not None:
        yield from _logged(given, given.recording, position, numbered, chosen)
        return
    with closing(load_step(side, position, given.chain.candidate[position])) as step:
        for number, row, value in numbered:
            if row.id in chosen:
                yield apply_copy(step, value, number, row.id)
        if step.program is not None:
            step.program.finish()


def _logged(
    given: _Given, recording: Recording, position: int, numbered: Any, chosen: set[str]
) -> Iterator[Any]:
    """Yield what was logged of the step, where it was made of the reference's own value.

    Raises:
        CaseCodeError: it was made of another one.
    """
    steps = given.chain.candidate
    output = recording.reader(recording.step(steps, position))
    earlier = recording.reader(recording.step(steps, position - 1)) if position else None
    samples = Samples(given.real)
    tolerance = given.report["atol"], given.report["rtol"]
    for number, row, value in numbered:
        if row.id not in chosen:
            continue
        own = samples.raw(row) if earlier is None else recording.take(earlier, [row])[0]
        if not close(own, value, *tolerance):
            raise CaseCodeError(OTHER_INPUT % f"{number}{privacy.named(row.id)}")
        yield recording.take(output, [row])[0]
