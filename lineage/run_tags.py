"""Runs as annotated tags: a summary in the message, the record and the locks in the commit."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from lineage import git
from lineage.provenance import RunRecord

PREFIX = "refs/tags/run/"
PRUNED = "refs/tags/pruned/"
"""What is left of a run that was pruned and had looked at held-out rows."""

_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[a-z0-9-]+")
LATEST = "latest"
SHOWN = 5
SHORTEST = 8
"""So much of an id names a run, its day: less, or nothing, would name whichever is there."""
POSITIONS = {LATEST: 0, "previous": 1}
"""What stands after `CASE@`, and how many finished runs of the case are newer."""


class RunUnknown(Exception):  # noqa: N818 - reads as the fact that it is
    """No run, or more than one, answers to this name."""

    exit_status = 2


def tag_name(run_id: str) -> str:
    """Return the name of a run's tag."""
    return f"run/{run_id}"


def case_of(run_id: str) -> str:
    """Return the case that a run is of; its id says it."""
    return run_id.partition("-")[2].rpartition("-")[0]


def list_ids(workspace: Path) -> list[str]:
    """Return the ids of all runs, newest first; a tag that is named otherwise is none of ours."""
    listed = git.text(
        workspace, "for-each-ref", "--sort=-refname", "--format=%(refname:lstrip=3)", PREFIX
    )
    return [name for name in listed.split() if _ID.fullmatch(name)]


def tag_exists(workspace: Path, run_id: str) -> bool:
    """Tell whether a run was closed."""
    return bool(git.text(workspace, "for-each-ref", f"{PREFIX}{run_id}"))


def tag(workspace: Path, commit: str, record: RunRecord) -> None:
    """Tag a commit as a run.

    The message's first line is for people, its last for `list_runs`, to need one call of git.
    """
    verdict = f", gate {record.verdict}" if record.verdict else ""
    cut = f", partial ({record.partial})" if record.partial else ""
    first = f"{record.case}: {record.state}{cut}{verdict}. {record.sentence}".replace("\n", " ")
    _tag(workspace, tag_name(record.id), commit, first, record)


def note_pruned(workspace: Path, record: RunRecord) -> None:
    """Keep the summary of a run whose tag is about to go: its look at held-out rows counts."""
    if git.text(workspace, "for-each-ref", f"{PRUNED}{record.id}"):
        return
    first = f"{record.case}: pruned. {record.sentence}".replace("\n", " ")
    _tag(workspace, f"pruned/{record.id}", record.parent, first, record)


def _tag(workspace: Path, name: str, target: str, first: str, record: RunRecord) -> None:
    summary = record.model_copy(update={"stages": []}).model_dump_json()
    git.run(
        workspace,
        "tag",
        "--annotate",
        "--no-sign",
        "--cleanup=verbatim",
        "--file=-",
        name,
        target,
        input_=f"{first}\n\n{summary}\n".encode(),
        environment=git.identity(workspace),
    )


def list_runs(workspace: Path) -> list[RunRecord]:
    """Return all runs, newest first, without their stages; one call of git for all of them."""
    return list(_listed(workspace, PREFIX))


def newest_first(workspace: Path) -> Iterator[str]:
    """Yield the ids of runs that have a record of their own; one call of git, read as asked for."""
    return (record.id for record in _listed(workspace, PREFIX))


def list_looks(workspace: Path) -> list[RunRecord]:
    """Return what has looked at held-out rows: all runs, and those that were pruned."""
    return [*_listed(workspace, PREFIX), *_listed(workspace, PRUNED)]


def _listed(workspace: Path, prefix: str) -> Iterator[RunRecord]:
    form = "--format=%(refname:lstrip=3)%0a%(contents:body)%00"
    said = git.run(workspace, "for-each-ref", "--sort=-refname", form, prefix)
    for one in said.split(b"\0"):
        name, _, body = one.strip().partition(b"\n")
        try:
            record = RunRecord.model_validate_json(body.strip())
        except ValidationError:
            continue  # a tag that somebody else put here
        if _is_of(record, name.decode(errors="replace")):
            yield record


def _is_of(record: RunRecord, run_id: str) -> bool:
    """Tell whether a record speaks of its own tag's run: paths are made of what it says."""
    is_id = _ID.fullmatch(run_id) is not None
    return is_id and record.id == run_id and record.case == case_of(run_id)


def read_run(workspace: Path, which: str) -> RunRecord:
    """Return one run with its stages.

    Args:
        workspace: the repository.
        which: as for `find`.

    Raises:
        RunUnknown: none or several answer to it.
    """
    return _read(workspace, find(workspace, which))


def has_record(workspace: Path, run_id: str) -> bool:
    """Tell whether a tag that is named as a run's holds the record of that run."""
    try:
        _read(workspace, run_id)
    except RunUnknown:
        return False
    return True


def _read(workspace: Path, run_id: str) -> RunRecord:
    path = f"cases/{case_of(run_id)}/run.json"
    try:
        whole = git.run(workspace, "cat-file", "blob", f"{PREFIX}{run_id}:{path}")
    except git.GitError:  # its worktree was lost: the tag's message is all there is
        for record in list_runs(workspace):
            if record.id == run_id:
                return record
        raise _no_record(run_id) from None
    try:
        record = RunRecord.model_validate_json(whole)
    except ValidationError:
        raise _no_record(run_id) from None
    if not _is_of(record, run_id):
        raise _no_record(run_id)
    return record


def _no_record(run_id: str) -> RunUnknown:
    told = f"The tag run/{run_id} holds no record of that run: something else made it"
    return RunUnknown(f"{told}. All runs: assay status")


def find(workspace: Path, which: str) -> str:
    """Return the id of the one run that answers to a name.

    Args:
        workspace: the repository.
        which: `latest`: the last finished run; CASE or `CASE@latest`: that of a case;
            `CASE@previous`: the one before; or an id or its beginning, with or without `run/`; a
            beginning has at least `SHORTEST` characters.

    Raises:
        RunUnknown: none or several do.
    """
    ids = list_ids(workspace)
    done = [run for run in list_runs(workspace) if run.state == "done"]
    named = which.removeprefix("run/")
    if named == LATEST and done:
        return done[0].id
    if "@" in named and ids:
        return _of_case(done, *named.rsplit("@", 1))
    if named in {run.case for run in done}:
        return _of_case(done, named, LATEST)
    matching = that_begin(ids, named)
    if len(matching) == 1:
        return matching[0]
    if not ids:
        raise RunUnknown("There is no run yet. Make one: assay run CASE")
    near = difflib.get_close_matches(named, ids, SHOWN)
    what = "the nearest are" if near else "the latest are"
    if matching:
        what = f"{len(matching)} runs begin like this"
    shown = ", ".join((matching or near or ids)[:SHOWN])
    raise RunUnknown(
        f"Which run? `latest`, CASE, CASE@previous, an id or its beginning (at least {SHORTEST} "
        f"characters); {what}: {shown}. Got: {which or 'an empty name'}."
    )


def that_begin(ids: list[str], named: str) -> list[str]:
    """Return the id that is named, or those that begin so; none for too short a beginning."""
    if named in ids:
        return [named]
    return [one for one in ids if len(named) >= SHORTEST and one.startswith(named)]


def _of_case(done: list[RunRecord], case: str, word: str) -> str:
    cases = sorted({run.case for run in done})
    if case not in cases or word not in POSITIONS:
        raise RunUnknown(
            f"Which run? {' or '.join(f'CASE@{word}' for word in POSITIONS)}, with a case that has "
            f"a finished run: {', '.join(cases) or 'none yet'}. Got: {case}@{word}."
        )
    found = [run.id for run in done if run.case == case]
    if len(found) <= POSITIONS[word]:
        raise RunUnknown(f"{case} has one finished run, {found[0]}: there is none before it.")
    return found[POSITIONS[word]]
