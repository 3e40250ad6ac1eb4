"""A run repeated from its tag: in a clean clone, whose caches hold raw data alone."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from flows import server
from flows.foreign_run import refuse_foreign_program
from flows.guard import CANCEL_S, ends_with_me
from lineage.clean_clone import CleanClone, adopt, clean_clone, note_child
from lineage.dvc_repo import cache_of
from lineage.outputs_compared import (
    Sameness,
    StageOutput,
    Tolerance,
    compare_outputs,
    tolerance_of,
)
from lineage.provenance import DONE, RunRecord
from lineage.run_tags import read_run

Say = Callable[[str], None]
Start = Callable[[CleanClone, RunRecord, Say], str]
"""Runs a record's case in a clone and returns the id of the run that it made there."""

BUDGET = "9999h"  # a repetition that is cut short repeats nothing


class NotReproducible(Exception):  # noqa: N818 - reads as the fact that it is
    """The run cannot be repeated here; the message says why and what to do."""

    exit_status = 2


class ReproductionBroke(Exception):  # noqa: N818 - reads as the fact that it is
    """The repetition ended without a run."""

    exit_status = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """What came out of repeating a run."""

    of: RunRecord
    run: RunRecord  # the repetition, as its tag keeps it
    raw: tuple[str, ...]  # the data that the clone's cache held at the start
    how: Mapping[str, str]  # stage -> how it came to be in the clone: each must say `ran`
    outputs: tuple[StageOutput, ...]
    tolerance: Tolerance
    notes: tuple[str, ...] = field(default=())

    @property
    def status(self) -> int:
        """0: all outputs identical or equal; 1: some differ; 3: it broke, or repeated nothing."""
        if self.run.state != "done" or self.run.partial or self.not_run:
            return 3
        return 1 if self.count("different") else 0

    @property
    def not_run(self) -> tuple[str, ...]:
        """The stages that were not executed, though the caches were empty."""
        return tuple(name for name, how in self.how.items() if how != "ran")

    def count(self, same: Sameness) -> int:
        """Return how many stages' outputs are so."""
        return sum(one.same == same for one in self.outputs)

    @property
    def sentence(self) -> str:
        """What came out, in one sentence."""
        if self.run.state != "done":
            return f"It broke: {self.run.sentence}"
        if self.status == 3:  # noqa: PLR2004  as `status` says
            return f"It proves nothing: not executed in the clone: {', '.join(self.not_run)}."
        counted = [
            f"{self.count(same)} {same}"
            for same in ("identical", "equal", "different")
            if self.count(same)
        ]
        return f"{len(self.outputs)} outputs: {', '.join(counted)}."


def reproduce(
    workspace: Path,
    which: str,
    say: Say,
    start: Start | None = None,
    *,
    trusted: bool = False,
) -> Reproduced:
    """Run a run's commit again, from nothing but its raw data, and compare all that it makes.

    The repetition is kept as a run of its own, whose record says which one it repeats.

    Args:
        workspace: the repository.
        which: the run, as for `read_run`.
        say: takes progress, one line at a time.
        start: how the case is run in the clone; by default with the `assay` of that commit.
        trusted: also if somebody else made it, and its program is not this branch's.

    Raises:
        RunUnknown: there is no such run.
        NotReproducible: it did not finish, or this host lacks what it ran in.
        ForeignRun: somebody else's program would run here.
        RawDataMissing: the cache has lost its raw data.
        ReproductionBroke: nothing came of it.
    """
    workspace = workspace.resolve()
    record = read_run(workspace, which)
    _refuse_unfinished(record)
    if not trusted:
        refuse_foreign_program(workspace, record)
    with clean_clone(workspace, record) as clone:
        raw = ", ".join(clone.raw) or "none: the run makes its data itself, or git holds it"
        say(f"reproducing {record.id} in {record.isolation}, from commit {record.commit[:12]}")
        say(f"clean clone, empty caches but for raw data ({raw})")
        made = read_run(clone.root, (start or _Child(workspace).start)(clone, record, say))
        tolerance = tolerance_of(record)
        outputs = compare_outputs(record, made, (cache_of(workspace), clone.cache), tolerance)
        result = Reproduced(
            of=record,
            run=made.model_copy(update={"of": record.id}),
            raw=clone.raw,
            how={stage.name: stage.how for stage in made.stages},
            outputs=outputs,
            tolerance=tolerance,
            notes=tuple(_notes(record, made)),
        )
        note = f"Reproduces {record.id}. {result.sentence}"
        kept = result.run.model_copy(update={"note": note})
        adopt(workspace, clone, kept, record.commit)
    return Reproduced(
        **{
            name: getattr(result, name) for name in Reproduced.__dataclass_fields__ if name != "run"
        },
        run=kept,
    )


def _refuse_unfinished(record: RunRecord) -> None:
    if record.state != "done":
        raise NotReproducible(
            f"Run {record.id} {record.state}: it has no answer to reproduce. "
            f"Finish it first: assay run {record.case}"
        )
    if record.partial:
        raise NotReproducible(
            f"Run {record.id} is a partial answer ({record.partial}), which depends on the clock. "
            f"Reproduce a whole one: assay run {record.case}"
        )


def _notes(old: RunRecord, new: RunRecord) -> list[str]:
    """Say where the two did not run in the same surroundings; bytes are promised for one only."""
    notes = []
    for what, find in _SURROUNDINGS.items():
        before, after = (
            {str(find(stage)) for stage in one.stages if stage.how in DONE and find(stage)}
            for one in (old, new)
        )
        if before and after and before != after:
            notes.append(f"{what}: {', '.join(sorted(before))} -> {', '.join(sorted(after))}")
    return notes


_SURROUNDINGS: Mapping[str, Callable[[Any], Any]] = {
    "environment": lambda stage: stage.environment,
    "CPU class": lambda stage: (stage.inside or {}).get("cpu_class"),
    "threads": lambda stage: stage.limits.threads,
}


@dataclass(slots=True)
class _Child:
    """Runs a case in a clone by the `assay` that the clone holds."""

    workspace: Path

    def start(self, clone: CleanClone, record: RunRecord, say: Say) -> str:
        words = [sys.executable, "-m", "flows", "run", record.case, "--json"]
        words += ["--isolation", record.isolation, "--budget", BUDGET]
        environment, said = self._environment(clone, say), list[str]()
        with ends_with_me() as tell:
            # A session of its own: Ctrl-C asks a run for a partial answer first, which is none.
            child = subprocess.Popen(
                words,
                cwd=clone.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            try:
                tell(child.pid)
                note_child(clone, child.pid)
                listening = threading.Thread(
                    target=_listen, args=(child.stderr, said, say), daemon=True
                )
                listening.start()
                told = child.stdout.read() if child.stdout else ""
                child.wait()
            except BaseException:
                _end(child)
                raise
            listening.join()
        return _run_of(record, told, said, child.returncode)

    def _environment(self, clone: CleanClone, say: Say) -> dict[str, str]:
        api = server.ensure(self.workspace, say)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        return {
            **kept,
            **server.environment(api, self.workspace),
            "PYTHONPATH": str(clone.root),
            "DVC_SITE_CACHE_DIR": str(clone.site),
            # A clone that is gone is no part of the repository above it.
            "GIT_CEILING_DIRECTORIES": str(clone.root.parent),
        }


def _listen(lines: IO[str] | None, said: list[str], say: Say) -> None:
    for line in lines or ():
        said.append(line.rstrip("\n"))
        say(f"  {said[-1]}")


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(CANCEL_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _run_of(record: RunRecord, told: str, said: list[str], status: int) -> str:
    """Return the run that a child told of.

    Raises:
        NotReproducible: it could not start.
        ReproductionBroke: it ended without one.
    """
    try:
        answer = json.loads(told)
    except ValueError:
        answer = {}
    if isinstance(answer, dict) and isinstance(answer.get("run"), str):
        return str(answer["run"])
    why = str(answer.get("error") or "\n".join(said[-5:]) or "It said nothing.")
    if record.isolation == "docker":
        why = f"It was made in containers ({record.isolation}). {why}"
    if status == 2:  # noqa: PLR2004  could not start
        raise NotReproducible(f"Run {record.id} cannot be reproduced here. {why}")
    raise ReproductionBroke(f"The reproduction of {record.id} ended with status {status}. {why}")
