"""One run from its snapshot to its tag; the Prefect flow is a thin shell around it."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from containers.choose import choose
from containers.job import Runner
from containers.keys import is_family
from flows import graph
from flows.case import LoadedCase, load_case
from flows.case_privacy import refuse_exposed_samples
from flows.plan import ENVIRONMENTS, named, plan
from lineage import atomic, runs
from lineage.engine import Engine
from lineage.execute import StageFailed
from lineage.provenance import Provenance, RunRecord
from lineage.row import Row
from sides.privacy import NOT_KEPT
from stages.reports.diagnose import DIAGNOSE
from stages.reports.gate import GATE

Say = Callable[[str], None]


@dataclass(slots=True)
class Investigation:
    """A run under way. `advance` is called from several threads, each row once."""

    loaded: LoadedCase
    rows: tuple[Row, ...]
    run: runs.Run
    engine: Engine
    runner: Runner
    note: str
    say: Say
    started: datetime
    flow_run_id: str | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    provenance: dict[str, Provenance] = field(default_factory=dict)
    _said_not_kept: bool = False

    def advance(self, name: str) -> str:
        """Bring one stage up to date and return how: unchanged, restored or ran.

        Raises:
            StageFailed: it did not end well; the message is for a person.
        """
        row = named(self.rows, name)
        try:
            outcome = self.engine.advance(
                row, on_line=lambda line: self._pass_on(name, line), cancel=self.cancel
            )
        except StageFailed as error:
            if error.provenance is not None:
                self.provenance[name] = error.provenance
            self.say(f"{name:<22} {error.exit.reason}")
            raise
        self.provenance[name] = outcome.provenance
        self.say(f"{name:<22} {outcome.how}{_cost(row, outcome.provenance)}")
        return outcome.how

    def _pass_on(self, name: str, line: str) -> None:
        """Show a stage's line; what every stage of a private case says is said once."""
        if line.strip() != NOT_KEPT:
            self.say(f"{name} | {line}")
        elif not self._said_not_kept:
            self._said_not_kept = True
            self.say(NOT_KEPT.replace("this stage prints", "stages print"))

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the wish to stop: once asks the stages, twice is at once.

        Entered inside the flow, since Prefect sets its own handler of SIGTERM around it.
        """

        def stop(_signal: int, _frame: FrameType | None) -> None:
            if self.cancel.is_set():
                raise KeyboardInterrupt
            self.say("stopping: the stages are told to end (once more: at once)")
            self.cancel.set()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def report(self, place: str) -> Any:
        """Read a finished stage's JSON report from the worktree."""
        path = self.run.tree / self.loaded.folder / place
        return json.loads(path.read_text(encoding="utf-8"))

    def conclude(self, error: BaseException | None) -> RunRecord:
        """Write the record, tag the run and remove its worktree."""
        cancelled = self.cancel.is_set() or isinstance(error, KeyboardInterrupt)
        state: Literal["done", "cancelled", "failed"]
        state = "done" if error is None else "cancelled" if cancelled else "failed"
        record = RunRecord(
            id=self.run.id,
            case=self.loaded.name,
            state=state,
            verdict=None if error else self.report(GATE.path)["verdict"],
            because="" if error else self.report(GATE.path)["because"],
            sentence=(str(error) or state) if error else self.report(DIAGNOSE.path)["verdict"],
            commit=self.run.commit,
            parent=self.run.parent,
            dirty=list(self.run.dirty),
            isolation=self.runner.kind,
            note=self.note,
            started=self.started.isoformat(),
            ended=datetime.now(UTC).isoformat(),
            flow_run_id=self.flow_run_id,
            stages=[self.provenance[row.name] for row in self.rows if row.name in self.provenance],
            error=(str(error) or state) if error else None,
        )
        self.engine.close()
        runs.close(self.run, record)
        return record


def _cost(row: Row, made: Provenance) -> str:
    if made.how != "ran":
        return ""
    # A GPU is a wish: say what the stage that wished for one really had.
    device = f" on {'GPU' if made.gpu else 'CPU'}" if row.gpu else ""
    return f" {made.wall_s:.1f} s{device}"


def begin(workspace: Path, case: str, isolation: str, say: Say) -> Investigation:
    """Check, plan, snapshot and open a worktree; the process moves into it.

    Raises:
        Faults: what the user wrote cannot be used.
        RunnerError: Docker was asked for and is not there.
        SnapshotRefused: the dirty tree is too large or holds a secret.
    """
    loaded = load_case(workspace, case)
    refuse_exposed_samples(loaded)
    rows = plan(loaded)
    families = sorted({row.image for row in rows if is_family(row.image)})
    foreign = {
        side.image: f"{loaded.folder}/case.yaml: {name}.image"
        for name, side in loaded.sides.items()
        if not is_family(side.image)
    }
    runner, note = choose(isolation, say, families=families, foreign=foreign)  # type: ignore[arg-type]
    if note:
        say(note)
    graph.write(workspace, graph.case_graph(loaded, rows))
    environments = graph.environments(rows, runner)
    if not (workspace / ENVIRONMENTS).exists():
        atomic.write(workspace / ENVIRONMENTS, environments)
    now = datetime.now(UTC)
    run = runs.create(workspace, case, expose=_exposed(loaded), now=now)
    atomic.write(run.tree / ENVIRONMENTS, environments)
    os.chdir(run.tree)  # in-process DVC takes the repository from the working directory
    logs = workspace / ".assay/logs" / run.id
    engine = Engine(run.tree, runner=runner, run_id=run.id, logs=logs, cache_dir=None)
    return Investigation(loaded, rows, run, engine, runner, note, say, now)


def _exposed(loaded: LoadedCase) -> tuple[str, ...]:
    """The case's folder, and those of other cases whose code it uses."""
    folders = {loaded.folder}
    folders |= {
        "/".join(root.split("/")[:2]) for root in loaded.code_roots if root.startswith("cases/")
    }
    return tuple(sorted(folders))


def exit_status(record: RunRecord, error: BaseException | None) -> int:
    """Return the exit status of design.md: 0 open, 1 closed or abstained, 2, 3, 130."""
    if record.state == "cancelled":
        return 130
    if isinstance(error, StageFailed) and error.exit.code == 2:  # noqa: PLR2004  enter.py: could not start
        return 2
    if error is not None:
        return 3
    return 0 if record.verdict == "open" else 1
