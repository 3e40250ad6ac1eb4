"""One run from its snapshot to its tag; the Prefect flow is a thin shell around it."""

import dataclasses
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from containers.choose import choose
from containers.job import Reason, Runner
from containers.keys import is_family
from flows import graph, preflight
from flows.budget import Budget
from flows.case import LoadedCase, load_case
from flows.case_privacy import refuse_exposed_samples
from flows.course import Course
from flows.cut import Cut, NotInTime, contents, no_answer
from flows.plan import ENVIRONMENTS, named, plan
from flows.repeat import Repeat
from lineage import apart, atomic, fence, runs
from lineage.engine import Engine
from lineage.execute import StageFailed
from lineage.provenance import Provenance, RunRecord
from lineage.row import Row
from sides.privacy import NOT_KEPT
from stages.reports.diagnose import DIAGNOSE
from stages.reports.page import ANSWER

Say = Callable[[str], None]


class Cancelled(Exception):  # noqa: N818  reads as the fact that it is
    """Somebody ended the run between two stages."""

    exit_status = 130

    def __init__(self, run_id: str) -> None:
        super().__init__(f"{run_id} was cancelled; what was finished is kept.")


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
    cut: Cut
    flow_run_id: str | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    provenance: dict[str, Provenance] = field(default_factory=dict)
    repeat: Repeat | None = None
    error: BaseException | None = None  # what ended it early
    finished: bool = False  # all stages are as they shall be
    _signalled: bool = False
    _said_not_kept: bool = False

    def advance(self, name: str) -> str:
        """Bring one stage up to date and return how, as `lineage.provenance.How`.

        Raises:
            StageFailed: it did not end well; the message is for a person.
            NotInTime: there is no answer without it, and no time for it.
        """
        row = named(self.rows, name)
        self.engine.flow_run_id = self.flow_run_id
        try:
            made = self._made(row)
        except (StageFailed, fence.Cancelled) as error:
            why = self.cut.why_over(name)
            ended = not isinstance(error, StageFailed) or error.exit.reason is Reason.CANCELLED
            if not ended or not why or self.cancel.is_set():
                self._failed(name, error)
                raise
            made = self._leave_out(row, why)
        self.provenance[name] = made
        told = f"{made.how}{_cost(row, made)}"
        self.say(f"{name:<22} {told:<16} {self.cut.budget.told()}")
        return made.how

    def _made(self, row: Row) -> Provenance:
        """Take it from the cache, run it, or leave it out."""
        ends, why = self.cut.event(row.name), self.cut.why_over(row.name)

        def on_line(line: str) -> None:
            self._pass_on(row.name, line)

        if blocked := self.cut.blocked_by(row.name):
            return self._leave_out(row, blocked)
        if self.cut.is_touched(row.name):
            return self._leave_out(row, why) if why else self._run_apart(row, on_line)
        fresh = self.repeat is not None and row.name in self.repeat.fresh
        if why:  # what is known already takes no time
            known = None if fresh else self.engine.restore(row, on_line=on_line, cancel=ends)
            return known.provenance if known else self._leave_out(row, why)
        if self.repeat and row.name in self.repeat.kept:
            known = self.engine.restore(row, on_line=on_line, cancel=ends)
            if known is None:
                raise self.repeat.not_kept(row.name)
            return known.provenance
        return self.engine.advance(row, on_line=on_line, cancel=ends, fresh=fresh).provenance

    def _leave_out(self, row: Row, why: str) -> Provenance:
        if self.cut.course.is_needed(row.name):
            needed = [one.name for one in self.rows if self.cut.course.is_needed(one.name)]
            missing = [name for name in needed if name not in self.provenance]
            more = "" if self.cut.stopped else self.cut.budget.longer()
            raise NotInTime(no_answer(self.loaded.name, why, missing, more))
        self.cut.left_out[row.name] = why
        seen = self.engine.witness(row)
        if not self.cut.course.is_optional(row.name):
            return seen.left_out()  # what reads it is left out too
        return apart.stand_in(row, self.run.tree, contents(row, why), seen)

    def _run_apart(self, row: Row, on_line: Say) -> Provenance:
        self.cut.apart.add(row.name)
        if "partial" in row.params:
            row = dataclasses.replace(row, params={**row.params, "partial": self.cut.partial()})
        return apart.run_apart(
            row,
            self.run.tree,
            self.runner,
            self.engine.witness(row),
            on_line=on_line,
            cancel=self.cut.event(row.name),
            logs=self.engine.logs,
        )

    def _failed(self, name: str, error: Exception) -> None:
        if isinstance(error, StageFailed):
            if error.provenance is not None:
                self.provenance[name] = error.provenance
            self.say(f"{name:<22} {error.exit.reason}")

    def _pass_on(self, name: str, line: str) -> None:
        """Show a stage's line; what every stage of a private case says is said once."""
        if line.strip() != NOT_KEPT:
            self.say(f"{name} | {line}")
        elif not self._said_not_kept:
            self._said_not_kept = True
            self.say(NOT_KEPT.replace("this stage prints", "stages print"))

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Take SIGINT as the wish for the answer so far, the next or SIGTERM as that to stop.

        Once more is at once. Entered inside the flow, since Prefect sets its own handler of SIGTERM
        around it. Only flags are set here: a lock may be held where the signal arrives.
        """

        def stop(number: int, _frame: FrameType | None) -> None:
            if self._signalled:
                raise KeyboardInterrupt
            if number == signal.SIGINT and not self.cut.stopped:
                self.cut.stop()
                self.say("finishing with what is known so far (once more: cancel)")
                return
            self._signalled = True
            self.say("stopping: the stages are told to end (once more: at once)")
            self.cancel.set()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def begun_as(self, flow_run_id: str) -> None:
        """Note which of Prefect's flow runs this is, also for whoever closes it if it is killed."""
        self.flow_run_id = flow_run_id
        runs.note_flow_run(self.run, flow_run_id)

    def cancel_from_afar(self) -> None:
        """Take a cancel by Prefect's UI or API; a signal that comes with it is not a second one."""
        self.say("cancelled in Prefect: the stages are told to end")
        self.cancel.set()

    def end_now(self) -> None:
        """Tell every stage to end, when nobody watches over them any more."""
        self.cancel.set()
        for row in self.rows:
            self.cut.event(row.name).set()

    def was_cancelled(self, error: BaseException | None) -> bool:
        """Tell an end that somebody asked for."""
        asked = isinstance(error, NotInTime) and bool(self.cut.stopped)
        return error is not None and (
            self.cancel.is_set() or isinstance(error, KeyboardInterrupt) or asked
        )

    def report(self, place: str) -> Any:
        """Read a finished stage's JSON report from the worktree."""
        path = self.run.tree / self.loaded.folder / place
        return json.loads(path.read_text(encoding="utf-8"))

    def conclude(self, error: BaseException | None) -> RunRecord:
        """Write the record, tag the run and remove its worktree."""
        state: Literal["done", "cancelled", "failed"] = "done"
        if error is not None:
            state = "cancelled" if self.was_cancelled(error) else "failed"
        gate = {} if error else self.report(ANSWER.path)["gate"]
        partial = "" if error else self.cut.partial()
        record = RunRecord(
            id=self.run.id,
            case=self.loaded.name,
            state=state,
            verdict=gate.get("verdict"),
            because=gate.get("because", ""),
            look=gate.get("look"),
            partial=partial,
            not_examined=list(self.cut.left_out),
            sentence=(str(error) or state) if error else self.report(DIAGNOSE.path)["verdict"],
            commit=self.run.commit,
            parent=self.run.parent,
            dirty=list(self.run.dirty),
            isolation=self.runner.kind,
            note=self.note,
            started=self.started.isoformat(),
            ended=datetime.now(UTC).isoformat(),
            flow_run_id=self.flow_run_id,
            of=self.repeat.of.id if self.repeat else None,
            trigger=dict(self.run.trigger) if self.run.trigger else None,
            stages=[self.provenance[row.name] for row in self.rows if row.name in self.provenance],
            error=(str(error) or state) if error else None,
        )
        self.engine.close()
        self._set_apart(whole=error is None)
        runs.close(self.run, record)
        return record

    def _set_apart(self, *, whole: bool) -> None:
        """Keep what was made outside of DVC, and let no lock of an older run speak for it."""
        own = {*self.cut.left_out, *self.cut.apart}
        if not own:
            return
        apart.forget(self.run.tree, self.loaded.name, own)
        folders = [row.folder for row in self.rows if row.name in self.cut.apart]
        if whole:
            apart.keep(self.run.workspace, self.run.id, self.run.tree, folders)


def _cost(row: Row, made: Provenance) -> str:
    if made.how not in ("ran", "apart"):
        return ""
    # A GPU is a wish: say what the stage that wished for one really had.
    device = f" on {'GPU' if made.gpu else 'CPU'}" if row.gpu else ""
    return f" {made.wall_s:.1f} s{device}"


def begin(
    workspace: Path,
    case: str,
    isolation: str,
    say: Say,
    budget: str,
    *,
    trigger: Mapping[str, Any] | None = None,
) -> Investigation:
    """Check, plan, snapshot and open a worktree; the process moves into it.

    What a deploy started (`trigger`) asks first what the gate asks.

    Raises:
        Faults: what the user wrote cannot be used.
        RunnerError: Docker was asked for and is not there.
        SnapshotRefused: the dirty tree is too large or holds a secret.
        NoRoom: the disks or their quotas do not hold what it would make.
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
    return open_run(
        loaded,
        rows,
        runner,
        note=note,
        say=say,
        budget=Budget(budget),
        expose=_exposed(loaded),
        trigger=trigger,
    )


def open_run(
    loaded: LoadedCase,
    rows: tuple[Row, ...],
    runner: Runner,
    *,
    note: str,
    say: Say,
    budget: Budget,
    expose: tuple[str, ...],
    trigger: Mapping[str, Any] | None = None,
) -> Investigation:
    """Snapshot the workspace and open a worktree; the process moves into it.

    Raises:
        SnapshotRefused: the dirty tree is too large or holds a secret.
    """
    workspace = loaded.workspace
    graph.write(workspace, graph.case_graph(loaded, rows))
    environments = graph.environments(rows, runner)
    if not (workspace / ENVIRONMENTS).exists():
        atomic.write(workspace / ENVIRONMENTS, environments)
    preflight.fits(workspace, loaded.name, rows, lambda: _todo(workspace, rows, runner))
    now = datetime.now(UTC)
    run = runs.create(workspace, loaded.name, expose=expose, now=now, trigger=trigger)
    try:
        atomic.write(run.tree / ENVIRONMENTS, environments)
        os.chdir(run.tree)  # in-process DVC takes the repository from the working directory
        logs = workspace / ".assay/logs" / run.id
        engine = Engine(run.tree, runner=runner, run_id=run.id, logs=logs, commit=run.commit)
        release = trigger is not None and trigger.get("by") == "deploy"
        cut = Cut(Course(rows, release=release), budget)
        return Investigation(loaded, rows, run, engine, runner, note, say, now, cut)
    except BaseException:  # a person may not want it any more
        runs.discard(run)
        raise


def _todo(workspace: Path, rows: tuple[Row, ...], runner: Runner) -> list[str]:
    """Return the stages that the cache does not have, as far as that is known beforehand."""
    engine = Engine(workspace, runner=runner, run_id="preflight", logs=workspace / ".assay/logs")
    try:
        return [name for name, state in engine.status(rows).items() if state == "stale"]
    finally:
        engine.close()


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
    if isinstance(error, StageFailed) and error.exit.reason is Reason.FAILED:
        return 2 if error.exit.code == 2 else 3  # noqa: PLR2004  enter.py: could not start
    if error is not None:
        return 3
    return 0 if record.verdict == "open" else 1
