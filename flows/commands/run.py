"""`assay run`: from a case's name to a verdict, a report and a tag."""

import gc
import importlib
import os
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from flows import flow_states, looks_ledger, server, whole_run, workspace
from flows.case import load_case
from flows.cli_words import CANCELLED, USAGE, Answer, status_of
from flows.investigation import Investigation, Say, begin, exit_status
from lineage import runs
from lineage.provenance import RunRecord
from lineage.run_tags import list_looks
from stages.reports.page import PAGE

BUSY_S: Final = 60.0
"""How long a server may refuse a new flow run."""


def run(case: str, isolation: str, budget: str | None, say: Say) -> Answer:
    """Investigate a case in this process."""
    root = workspace.find(Path.cwd())
    runs.reconcile(root, say)
    loaded = load_case(root, case)  # a fault in it is told before a server is started for it
    time = budget or loaded.case.budget
    trigger = {"by": "hand", "where": "command line"}
    return run_begun(root, partial(begin, root, case, isolation, say, time, trigger=trigger), say)


def run_begun(root: Path, start: Callable[[], Investigation], say: Say) -> Answer:
    """Run what `start` opens, from its first stage to its tag."""
    api = server.ensure(root, say)
    os.environ.update(server.environment(api, root))
    flow_states.settle(root)
    ended = whole_run.go(root, partial(_started, start, say), _in_prefect, say, told=True)
    return _answer(root, ended.record, ended.error)


def _started(start: Callable[[], Investigation], say: Say) -> Investigation:
    load = _warm_up()
    try:
        investigation = start()
    except BaseException:
        # Where the interpreter ends under an import, its libraries end the process by SIGABRT.
        load.join()
        raise
    where = f"{investigation.runner.kind}, {len(investigation.rows)} stages"
    say(f"run {investigation.run.id} in {where}, budget {investigation.cut.budget.text}")
    return investigation


def _warm_up() -> threading.Thread:
    """Import Prefect, two seconds of CPU, while git and DVC open the run.

    Prefect reads its settings when it is imported, so the server's must be in the environment.
    """
    # Imports allocate what stays: half a second of the collector's CPU finds nothing to collect.
    gc.disable()
    load = threading.Thread(
        target=importlib.import_module, args=("flows.investigate",), daemon=True
    )
    load.start()
    return load


def _in_prefect(investigation: Investigation) -> None:
    """Run the flow; a server that has too much to do for a new one is asked again for a while."""
    from flows.investigate import examine_case

    gc.freeze()
    gc.enable()
    give_up = monotonic() + BUSY_S
    while True:
        try:
            examine_case(case=investigation.loaded.name, run_id=investigation.run.id)
        except Exception as error:
            has_begun = investigation.flow_run_id is not None
            if has_begun or not flow_states.is_busy(error) or monotonic() > give_up:
                raise
            sleep(1.0)
        else:
            return


def _next(record: RunRecord, status: int) -> str:
    """Say how it ended and what to do; what a person gave would fail the same way once more."""
    again = f"assay rerun {record.of}" if record.of else f"assay run {record.case}"
    if status == USAGE:
        return f"{record.state}. Mend what is named above, then: {again}"
    return f"{record.state}. Resume it: {again}"


def _answer(root: Path, record: RunRecord, error: BaseException | None) -> Answer:
    status = exit_status(record, error)
    data: dict[str, Any] = {
        "run": record.id,
        "state": record.state,
        "verdict": record.verdict,
        "because": record.because,
        "partial": record.partial,
        "not_examined": record.not_examined,
        "sentence": record.sentence,
        "isolation": record.isolation,
        "stages": {stage.name: stage.how for stage in record.stages},
        "error": record.error,
        "reason": flow_states.reason_of(error),
        "status": status,
    }
    if error is not None:
        if status_of(error) is None and status != CANCELLED:  # a fault of ours: show where
            traceback.print_exception(error)
        return data, f"{record.error}\nrun {record.id}: {_next(record, status)}", status
    page = runs.open_artifact(root, record.id, f"cases/{record.case}/{PAGE.path}")
    data["report"] = str(page)
    gate = f"{record.verdict}: {record.because}" if record.because else record.verdict
    cut = f"partial  {record.partial}.\n" if record.partial else ""
    counted = looks_ledger.counted(record, list_looks(root)) if record.look else None
    if counted and counted.overspends:
        gate = f"{gate}\nlook     {counted.says()}"
    text = f"\n{record.sentence}\n\n{cut}gate     {gate}\nrun      {record.id}\nreport   {page}"
    return data, text, status
