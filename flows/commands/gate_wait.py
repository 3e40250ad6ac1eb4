"""`assay gate --wait`: a step of CI that ends when the gate has answered, as the gate answered."""

import re
import shlex
import time
from pathlib import Path

from flows import deploy_claims, workspace
from flows.budget import seconds
from flows.cli_words import Answer
from flows.commands import gate
from flows.foreign_run import is_own
from flows.investigation import Say
from lineage import runs
from lineage.execute import RUNS
from lineage.provenance import RunRecord
from lineage.run_tags import tag_exists

POLL_S = 0.5
EVENT = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

RUN = r"[0-9]{8}T[0-9]{6}-[a-z0-9-]+-[0-9a-f]{4,8}"


class NoAnswer(Exception):  # noqa: N818  reads as the fact that it is
    """There is no answer of a gate, for now or at all."""

    exit_status = 3


class NoEvent(Exception):  # noqa: N818  reads as the fact that it is
    """What was given is no event's id."""

    exit_status = 2


def show(run: str, event: str | None, timeout: str | None, say: Say) -> Answer:
    """Tell the state of a gate; with a time, wait so long until there is one.

    Raises:
        NoEvent: the event has no such id, or it is not said what is waited for.
        NoAnswer: the time is over, or the run of this event could not begin.
    """
    root = workspace.find(Path.cwd())
    if event is not None and not re.fullmatch(EVENT, event):
        raise NoEvent(f"--event: expected an id, as `assay deployed` tells it; got {event!r}.")
    if timeout and event is None and not re.fullmatch(RUN, run.removeprefix("run/")):
        # The newest finished run of a case would answer at once, for what was deployed before.
        raise NoEvent(f"--wait: for which? State --event ID, or a run's whole id; got {run!r}.")
    begun = time.monotonic()
    limit_s = seconds(timeout) if timeout else 0.0
    said = False
    while (found := _ended(root, run, event)) is None:
        if time.monotonic() - begun >= limit_s:
            raise NoAnswer(_not_yet(root, run, event, timeout))
        if not said:
            said = True
            say(f"waiting for {f'event {event}' if event else f'run {run}'}, at most {timeout}")
        time.sleep(POLL_S)
    data, text, status = gate.show(found)
    record = runs.read_run(root, found)
    data |= {"trigger": record.trigger, "examined": record.parent}
    deployed = (record.trigger or {}).get("commit")
    if deployed and not record.parent.startswith(deployed):
        text += f"\nexamined commit {record.parent[:12]}; deployed is {deployed[:12]}"
    return data, text, status


def _ended(root: Path, run: str, event: str | None) -> str | None:
    """Return the run that answers, once it has ended."""
    if event is None:
        return None if _is_under_way(root, run) else run
    claim = deploy_claims.read(root, event)
    if claim is None:  # of a clone that has the tags, and not the files
        told = (one.id for one in _believed(root) if (one.trigger or {}).get("event") == event)
        return next(told, None)
    if claim.ended and claim.run is None:
        raise NoAnswer(_unbegun(claim))
    return _newest(root, claim.run) if claim.ended and claim.run else None


def _unbegun(claim: deploy_claims.Claim) -> str:
    again = shlex.join([*claim.deploy.words(), "--again"])
    return (
        f"The run of event {claim.event} could not begin: {claim.error} Mend that, then ask once "
        f"more: {again}"
    )


def _newest(root: Path, run: str) -> str:
    """Return the last finished run that repeats one, else that one."""
    again = (one.id for one in _believed(root) if one.of == run and one.state == "done")
    return next(again, run)


def _believed(root: Path) -> list[RunRecord]:
    """Return the runs that may answer: where events are examined, those that were made there.

    A tag can be pushed by whoever may push, and says whatever they like.
    """
    listed = runs.list_runs(root)
    examines = (root / deploy_claims.CLAIMS).is_dir()
    return [one for one in listed if is_own(root, one)] if examines else listed


def _is_under_way(root: Path, run: str) -> bool:
    run_id = run.removeprefix("run/")
    return (root / RUNS / run_id / "run.json").exists() and not tag_exists(root, run_id)


def _not_yet(root: Path, run: str, event: str | None, timeout: str | None) -> str:
    waited = f" in {timeout}" if timeout else ""
    if event is None:
        return f"Run {run} has not ended{waited}."
    claim = deploy_claims.read(root, event)
    if claim is None:
        return f"No run has event {event}{waited}. Does `assay serve` run, and was it raised?"
    return f"Run {claim.run or 'of event ' + event} has not ended{waited}."
