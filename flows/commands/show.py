"""The commands that look and change nothing."""

import re
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from containers.process_runner import ProcessRunner
from flows import graph, workspace
from flows import server as own_server
from flows.case import case_names, load_case
from flows.case_privacy import refuse_exposed_samples
from flows.cli_words import Answer
from flows.faults import Faults
from flows.plan import ENVIRONMENTS, plan, read_params
from lineage import runs, waivers
from lineage.artifacts import read_artifact
from lineage.engine import Engine
from lineage.provenance import RunRecord
from lineage.row import Row
from stages.reports.page import ANSWER, PAGE
from stages.reports.page import Answer as Report

if TYPE_CHECKING:
    from flows.chat import Form


def check(case: str) -> Answer:
    """Check a case's files, and look up what a run would find done.

    Raises:
        Faults: those of case.yaml, its contract and params.yaml, all at once.
    """
    root = workspace.find(Path.cwd())
    faults: list[str] = []
    for look in (lambda: load_case(root, case), lambda: read_params(root)):
        try:
            look()
        except Faults as error:
            faults += error.faults
    if faults:
        raise Faults(*faults)
    loaded = load_case(root, case)
    refuse_exposed_samples(loaded)
    rows = plan(loaded)
    text = f"{case}: nothing is wrong with its files; {len(rows)} stages."
    if graph.stale(root, graph.case_graph(loaded, rows)) or not (root / ENVIRONMENTS).exists():
        return {"case": case, "stages": {row.name: None for row in rows}}, text, 0
    states = _states(root, rows)
    todo = [name for name, state in states.items() if state == "stale"]
    text += f" A run here would execute {', '.join(todo) if todo else 'none of them'}."
    return {"case": case, "stages": states}, text, 0


def _states(root: Path, rows: Sequence[Row]) -> dict[str, str]:
    # The state is looked up by environments.yaml; no stage is started.
    logs = root / ".assay/logs"
    engine = Engine(root, runner=ProcessRunner(), run_id="check", logs=logs)
    try:
        return dict(engine.status(rows))
    finally:
        engine.close()


def list_cases() -> Answer:
    """List the cases with their titles."""
    root = workspace.find(Path.cwd())
    titles = {name: load_case(root, name).case.title for name in case_names(root)}
    return titles, "\n".join(f"{name:<24} {title}" for name, title in titles.items()), 0


def status(case: str | None, last: int) -> Answer:
    """Show the server and the latest runs."""
    root = workspace.find(Path.cwd())
    records = [record for record in runs.list_runs(root) if case in (None, record.case)][:last]
    found = own_server.status(root)
    granted = waivers.all_of(root)
    waived = {r.id: waivers.holding(granted, r.id, waivers.today()) for r in records}
    data = {
        "server": asdict(found) if found else None,
        "runs": [record.model_dump(mode="json", exclude={"stages"}) for record in records],
        "waivers": [one.model_dump(mode="json") for one in waived.values() if one],
    }
    up = found and found.answers
    where = found.ui_url if found and up else "down; the next run starts it"
    lines = [f"Prefect's server: {where}"]
    lines += [
        f"{r.id:<44} {_state(r):<10} {r.isolation:<8} {_gate(r, waived[r.id]):<10} "
        f"{_begun(r)}{_first(r.sentence)}"
        for r in records
    ]
    if not records:
        lines.append("No run yet: assay run CASE")
    return data, "\n".join(lines), 0


def _state(record: RunRecord) -> str:
    return "partial" if record.partial else record.state


def _begun(record: RunRecord) -> str:
    """Say what started a run, where nobody did."""
    trigger = record.trigger or {}
    told = {"deploy": f"deploy of {trigger.get('model')}", "schedule": "on schedule"}
    word = told.get(trigger.get("by", ""))
    return f"[{word}] " if word else ""


def _gate(record: RunRecord, waiver: waivers.Waiver | None) -> str:
    return f"waived to {waiver.until}" if waiver else record.verdict or "-"


def _first(sentence: str) -> str:
    return sentence.partition(". ")[0].partition("\n")[0]


CLOSED = re.compile(
    r'<!doctype html>\s*<html lang="en">\s*<head>\s*<meta charset="utf-8">\s*<meta http-equiv='
    r'"Content-Security-Policy" content="default-src \'none\'; [^"<>]*">'
)
"""How each page of ours begins: what follows runs no script and asks nobody, whoever wrote it."""


class OpenPage(Exception):  # noqa: N818  reads as the fact that it is
    """A run's page is none of ours, and a browser would obey it."""

    exit_status = 3


def _refuse_open(page: Path, run_id: str) -> None:
    """Refuse a page that a colleague's run brought and that no stage of ours wrote.

    Raises:
        OpenPage: it does not begin with the policy.
    """
    with page.open(encoding="utf-8", errors="replace") as file:
        head = file.read(4096)
    found = CLOSED.match(head.lstrip())
    if not found or "script" in found[0]:
        raise OpenPage(
            f"The page of run {run_id} does not begin as pages of assay do: it may run scripts. It "
            f"is {page}; look at it with an editor, and ask who pushed it."
        )


def report(run_id: str, open_: bool, form: "Form | None") -> Answer:
    """Bring a report out of the cache, and tell it in a few lines where that is asked for."""
    root = workspace.find(Path.cwd())
    record = runs.read_run(root, run_id)
    page = runs.open_artifact(root, record.id, f"cases/{record.case}/{PAGE.path}")
    _refuse_open(page, record.id)
    if open_:
        webbrowser.open(page.as_uri())
    waiver = waivers.holding(waivers.of_run(root, record.id), record.id, waivers.today())
    waived = f"until {waiver.until} by {waiver.by}: {waiver.reason}" if waiver else ""
    text = f"{page}\nwaived {waived}" if waived else str(page)
    if form is not None:
        from flows.chat import tell

        made = read_artifact(root, record.id, f"cases/{record.case}/{ANSWER.path}")
        text = tell(Report.model_validate_json(made), str(page), form, waived)
    data: dict[str, Any] = {"run": record.id, "report": str(page), "verdict": record.verdict}
    data |= {"waived_until": waiver.until.isoformat()} if waiver else {}
    data |= {"partial": record.partial, "trigger": record.trigger}
    data |= {"text": text} if form else {}
    return data, text, 0


def doctor() -> Answer:
    """Examine the host."""
    from flows.doctor import examine

    checks = examine(workspace.find(Path.cwd()))
    marks = {True: "ok", False: "MISSING", None: "-"}
    lines = []
    for item in checks:
        lines.append(f"{marks[item.ok]:<8} {item.name:<14} {item.found}")
        if item.ok is not True and item.mend:
            lines.append(f"{'':<23} {item.mend}")
    data = [
        {"name": c.name, "ok": c.ok, "found": c.found, "needed": c.needed, "mend": c.mend}
        for c in checks
    ]
    return data, "\n".join(lines), 2 if any(item.ok is False for item in checks) else 0
