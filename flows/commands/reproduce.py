"""`assay reproduce`: a run again, from its tag, and whether each output is the same."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from flows.reproduce import Reproduced
from flows.reproduce import reproduce as repeat
from lineage.outputs_compared import StageOutput


def reproduce(which: str, say: Callable[[str], None], trusted: bool) -> Answer:
    """Run a run again in a clean clone and compare all that it makes."""
    result = repeat(workspace.find(Path.cwd()), which, say, trusted=trusted)
    return _data(result), "\n".join(_lines(result)), result.status


def _data(result: Reproduced) -> dict[str, Any]:
    return {
        "of": result.of.id,
        "run": result.run.id,
        "state": result.run.state,
        "isolation": result.run.isolation,
        "commit": result.of.commit,
        "raw_data": list(result.raw),
        "stages": dict(result.how),
        "outputs": [asdict(one) for one in result.outputs],
        "tolerance": asdict(result.tolerance),
        "identical": result.count("identical"),
        "equal": result.count("equal"),
        "different": result.count("different"),
        "notes": list(result.notes),
        "sentence": result.sentence,
        "status": result.status,
    }


def _lines(result: Reproduced) -> Iterator[str]:
    yield f"of       {result.of.id}"
    yield f"run      {result.run.id} in {result.run.isolation}"
    yield f"commit   {result.of.commit}"
    yield f"raw data {', '.join(result.raw) or 'none in the cache'}; all other caches empty"
    yield from (f"note     {note}" for note in result.notes)
    yield ""
    compared = {one.stage: one for one in result.outputs}
    for name, how in result.how.items():
        told = compared.pop(name, None)
        yield f"{name:<22} {how:<10} {told.same if told else 'not compared'}"
        yield from _files(told)
    for told in compared.values():  # the repetition did not reach them
        yield f"{told.stage:<22} {'-':<10} {told.same}"
    yield ""
    if result.count("equal") or result.count("different"):
        yield f"equal    within {result.tolerance}, as the run states for its stage parity"
    yield f"so       {result.sentence}"


def _files(told: StageOutput | None) -> Iterator[str]:
    for file in told.files if told else ():
        yield f"{'':<22} {file.same}: {file.path}: {file.why}"


def markdown(result: Reproduced) -> str:
    """Write it for Prefect's UI."""
    rows = [
        f"| {one.stage} | {result.how.get(one.stage, '-')} | {one.same} |" for one in result.outputs
    ]
    head = ["| stage | how | outputs |", "|---|---|---|"]
    notes = [f"- {note}" for note in result.notes]
    told = f"# {result.of.id}\n\n{result.sentence} Repeated as `{result.run.id}`."
    return "\n".join([told, "", *notes, "", *head, *rows, ""])
