"""Opens a run once more, from its own commit: code, params and data as they were."""

import os
from datetime import UTC, datetime
from pathlib import Path

from containers.choose import choose
from containers.keys import is_family
from flows import graph
from flows.budget import Budget
from flows.case import load_case
from flows.course import Course
from flows.cut import Cut
from flows.faults import Faults
from flows.foreign_run import refuse_foreign_process
from flows.investigation import Investigation, Say
from flows.plan import ENVIRONMENTS, plan
from flows.repeat import NotRepeatable, Repeat
from lineage import atomic, disk, git, runs, yaml12
from lineage.dvc_yaml import folders_of_cases
from lineage.engine import Engine
from lineage.provenance import RunRecord
from lineage.snapshot import Snapshot


def begin_again(
    root: Path,
    repeat: Repeat,
    isolation: str | None,
    say: Say,
    budget: str | None,
) -> Investigation:
    """Open a worktree of what ran: code, params and data as they were; the process moves into it.

    Args:
        root: the workspace.
        repeat: what is repeated.
        isolation: where stages run; None: as in the run that is repeated.
        say: takes progress.
        budget: how long it may take; None: as its case says.

    Raises:
        NotRepeatable: the stages declare something else by now.
        ForeignRun: somebody else made it, in no container.
        RunnerError: it ran in containers, and there is no engine.
    """
    of = repeat.of
    if isolation is None:
        allowed = "assay rerun {} --isolation process"
        refuse_foreign_process(root, of, of.isolation, allowed)
    taken = Snapshot(commit=of.commit, parent=of.parent, dirty=tuple(of.dirty))
    run = runs.create(
        root,
        of.case,
        expose=_shown(root, of),
        now=datetime.now(UTC),
        taken=taken,
        trigger={"by": "hand", "where": "command line"},
    )
    try:
        return _opened(run, repeat, isolation or of.isolation, say, budget)
    except BaseException:
        runs.discard(run)
        raise


def _opened(
    run: runs.Run, repeat: Repeat, isolation: str, say: Say, budget: str | None
) -> Investigation:
    try:
        loaded = load_case(run.tree, run.case)
        rows = plan(loaded)
        stale = graph.stale(run.tree, graph.case_graph(loaded, rows))
    except Faults as error:
        raise _moved_on(repeat.of, str(error)) from error
    if stale:
        raise _moved_on(repeat.of, f"{stale[0]} would be another one.")
    repeat = repeat.bound_to(rows)
    families = sorted({row.image for row in rows if is_family(row.image)})
    runner, note = choose(isolation, say, families=families)  # type: ignore[arg-type]
    if note:
        say(note)
    with disk.writes("The worktree of the run", run.tree):
        atomic.write(run.tree / ENVIRONMENTS, graph.environments(rows, runner))
    os.chdir(run.tree)  # in-process DVC takes the repository from the working directory
    engine = Engine(run.tree, runner=runner, run_id=run.id, logs=run.logs, commit=run.commit)
    cut = Cut(Course(rows), Budget(budget or loaded.case.budget))
    return Investigation(
        loaded=loaded,
        rows=rows,
        run=run,
        engine=engine,
        runner=runner,
        note=note,
        say=say,
        started=datetime.fromisoformat(run.started),
        cut=cut,
        repeat=repeat,
    )


def _moved_on(of: RunRecord, why: str) -> NotRepeatable:
    return NotRepeatable(
        f"The stages of this assay are declared otherwise than those of run {of.id}: {why} Run it "
        f"with the assay of its own commit: assay reproduce {of.id}"
    )


def _shown(root: Path, of: RunRecord) -> tuple[str, ...]:
    """Return the case's folder and those whose files its graph names, as they were."""
    text = git.run(root, "cat-file", "blob", f"{of.commit}:cases/{of.case}/dvc.yaml")
    return folders_of_cases(yaml12.load(text.decode()), of.case)
