"""`assay gate`: may a run's candidate serve now, and the waiver that lets it for a while."""

from pathlib import Path
from typing import Any

from flows import looks_ledger, workspace
from flows.cli_words import Answer
from lineage import runs, waivers
from lineage.provenance import RunRecord
from lineage.run_tags import list_looks


def show(run: str) -> Answer:
    """Tell the state of a run's gate: 0 where it is open, or waived and not expired."""
    root = workspace.find(Path.cwd())
    record = runs.read_run(root, run)
    found = waivers.of_run(root, record.id)
    waiver = waivers.holding(found, record.id, waivers.today())
    looks = list_looks(root)
    counted = looks_ledger.counted(record, looks)
    serves = waiver is not None or looks_ledger.lets_serve(record, looks)
    data: dict[str, Any] = {
        "run": record.id,
        "verdict": record.verdict,
        "because": record.because,
        "serves": serves,
        "waiver": waiver and waiver.model_dump(mode="json"),
        "expired": [one.model_dump(mode="json") for one in found if not one.holds(waivers.today())],
        "look": counted and {"number": counted.number, "stated": counted.stated},
        "status": 0 if serves else 1,
    }
    lines = [f"run      {record.id}", f"gate     {_said(record)}"]
    lines += [f"waived   {told(one)}" for one in found]
    lines += [f"look     {counted.says()}"] if counted and counted.says() else []
    lines.append(f"so       {'it may serve' if serves else 'it may not serve'}")
    return data, "\n".join(lines), 0 if serves else 1


def waive(run: str, reason: str, by: str, until: str) -> Answer:
    """Open a closed gate until a day, visibly."""
    root = workspace.find(Path.cwd())
    record = runs.read_run(root, run)
    made = waivers.grant(root, record, reason=reason, by=by, until=until)
    text = f"run      {record.id}\ngate     {_said(record)}\nwaived   {told(made)}"
    return made.model_dump(mode="json"), text, 0


def told(waiver: waivers.Waiver) -> str:
    """Write a waiver in one line."""
    ended = "" if waiver.holds(waivers.today()) else " (expired)"
    return f"until {waiver.until}{ended} by {waiver.by}: {waiver.reason}"


def _said(record: RunRecord) -> str:
    if record.verdict is None:
        return f"none: the run {record.state}"
    return f"{record.verdict}: {record.because}" if record.because else record.verdict
