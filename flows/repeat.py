"""A run once more: what is made anew, what must not be, and whether it comes out the same."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from flows.plan import upstream
from lineage import runs
from lineage.provenance import Provenance, RunRecord
from lineage.row import Row
from lineage.run_tags import LATEST

FINISHED = ("unchanged", "restored", "ran")


class NotRepeatable(Exception):  # noqa: N818  reads as the fact that it is
    """A run cannot be repeated as it was asked for; the message says what can be done."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What is repeated, and which of its stages are made anew or must not be."""

    of: RunRecord
    stage: str | None = None  # from which on all is made anew
    only_failed: bool = False
    fresh: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()  # finished in `of`: restored, or the run ends

    def bound_to(self, rows: tuple[Row, ...]) -> "Repeat":
        """Return it with its stages known.

        Raises:
            NotRepeatable: no stage has this name, or none failed.
        """
        fresh: frozenset[str] = frozenset()
        if self.stage is not None:
            names = [row.name for row in rows]
            if self.stage not in names:
                raise NotRepeatable(f"Which stage? One of: {', '.join(names)}. Got: {self.stage}.")
            fresh = frozenset({self.stage, *_after(rows, self.stage)})
        done = {stage.name for stage in self.of.stages if stage.how in FINISHED}
        kept = frozenset(done - fresh if self.only_failed else ())
        return replace(self, fresh=fresh, kept=kept)

    def not_kept(self, name: str) -> NotRepeatable:
        """Return the error where a stage that had finished is no longer in the cache."""
        return NotRepeatable(
            f"{name} had finished in run {self.of.id}, and the cache no longer has it whole. Bring "
            f"it with `assay pull {self.of.id}`, or let it run again: assay rerun {self.of.id}"
        )


def _after(rows: tuple[Row, ...], name: str) -> set[str]:
    """Return all rows that read what a row makes, directly or not."""
    needs, found = upstream(rows), {name}
    while True:
        more = {row for row, own in needs.items() if found.intersection(own)} - found
        if not more:
            return found
        found |= more


def repeat_of(root: Path, which: str, stage: str | None, *, only_failed: bool) -> Repeat:
    """Return what is to be repeated; `latest` and CASE are the newest run, however it ended.

    Raises:
        RunUnknown: there is no such run.
        NotRepeatable: nothing failed in it.
    """
    newest = (run.id for run in runs.list_runs(root) if which in {LATEST, run.case})
    record = runs.read_run(root, next(newest, which))
    if only_failed and record.state == "done" and not record.partial:
        raise NotRepeatable(
            f"Nothing failed in run {record.id}: it is done. To make a stage anew: "
            f"assay rerun {record.id} --from STAGE"
        )
    return Repeat(of=record, stage=stage, only_failed=only_failed)


def compare(of: RunRecord, new: RunRecord, names: Iterable[str]) -> dict[str, list[str]]:
    """Return {stage: its files that are not what they were}; an empty list: all are the same."""
    before = {stage.name: stage for stage in of.stages if stage.how in FINISHED}
    after = {stage.name: stage for stage in new.stages if stage.how in FINISHED}
    return {
        name: _differing(before[name], after[name])
        for name in sorted(set(names) & set(before) & set(after))
    }


def _differing(before: Provenance, after: Provenance) -> list[str]:
    differing = sorted(
        path
        for path in {*before.outputs, *after.outputs}
        if before.outputs.get(path) != after.outputs.get(path)
    )
    # The folder differs with each of its files: it is named alone where they do not tell.
    return differing[1:] or differing
