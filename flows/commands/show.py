"""The commands that look and change nothing."""

import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows import server as own_server
from flows import workspace
from flows.case import case_names, load_case
from flows.plan import plan
from lineage import runs
from stages.reports.page import PAGE

Answer = tuple[Any, str, int]


def check(case: str) -> Answer:
    """Check a case's files."""
    root = workspace.find(Path.cwd())
    rows = plan(load_case(root, case))
    data = {"case": case, "stages": [row.name for row in rows]}
    return data, f"{case}: nothing is wrong with its files; {len(rows)} stages.", 0


def list_cases() -> Answer:
    """List the cases with their titles."""
    root = workspace.find(Path.cwd())
    titles = {name: load_case(root, name).case.title for name in case_names(root)}
    return titles, "\n".join(f"{name:<24} {title}" for name, title in titles.items()), 0


def status(last: int) -> Answer:
    """Show the latest runs."""
    root = workspace.find(Path.cwd())
    records = runs.list_runs(root)[:last]
    found = own_server.status(root)
    data = {
        "server": asdict(found) if found else None,
        "runs": [record.model_dump(mode="json", exclude={"stages"}) for record in records],
    }
    lines = [f"{r.id:<44} {r.state:<10} {r.verdict or '-':<10} {r.sentence}" for r in records]
    return data, "\n".join(lines) or "No run yet: assay run CASE", 0


def report(run_id: str, open_: bool) -> Answer:
    """Bring a report out of the cache."""
    root = workspace.find(Path.cwd())
    record = runs.read_run(root, run_id)
    page = runs.open_artifact(root, record.id, f"cases/{record.case}/{PAGE.path}")
    if open_:
        webbrowser.open(page.as_uri())
    return {"run": record.id, "report": str(page), "verdict": record.verdict}, str(page), 0


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
