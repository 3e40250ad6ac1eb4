"""Waivers of a closed gate: annotated tags beside the run's own, which is never rewritten."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from lineage import git
from lineage.provenance import RunRecord
from lineage.run_tags import tag_name

PREFIX = "refs/tags/waiver/"


class WaiverRefused(Exception):  # noqa: N818 - reads as the fact that it is
    """There is nothing to waive, or what was given says no reason, no name or no day to come."""

    exit_status = 2


class Waiver(BaseModel):
    """Who opened a gate for a while, and why."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # a newer one stays readable

    run: str
    reason: str
    by: str
    until: date  # the last day on which it holds, UTC
    granted: str  # ISO 8601, UTC
    verdict: str
    because: str

    def holds(self, today: date) -> bool:
        """Tell whether it has not expired."""
        return today <= self.until


def today() -> date:
    """Return the day, UTC."""
    return datetime.now(UTC).date()


def read_day(text: str) -> date:
    """Read the last day of a waiver.

    Raises:
        WaiverRefused: it is no day, or one that has passed.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise WaiverRefused(f"--until: expected a day as in 2027-01-31. Got: {text}.") from None
    if day < today():
        raise WaiverRefused(f"--until: {day} has passed; a waiver holds until a day to come.")
    return day


def grant(workspace: Path, record: RunRecord, *, reason: str, by: str, until: str) -> Waiver:
    """Waive a run's gate until a day.

    Args:
        workspace: the repository.
        record: the run.
        reason: for whoever reads it later.
        by: who answers for it.
        until: the last day, YYYY-MM-DD.

    Raises:
        WaiverRefused: there is nothing to waive, or something is missing.
    """
    if record.verdict is None:
        raise WaiverRefused(f"Run {record.id} {record.state}: it has no gate to waive.")
    if record.verdict == "open":
        raise WaiverRefused(f"The gate of run {record.id} is open: there is nothing to waive.")
    waiver = Waiver(
        run=record.id,
        reason=_one_line("--reason", reason),
        by=_one_line("--by", by),
        until=read_day(until),
        granted=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=record.verdict,
        because=record.because,
    )
    number = _last_number(workspace, record.id) + 1
    first = f"{record.id}: gate waived until {waiver.until} by {waiver.by}. {waiver.reason}"
    git.run(
        workspace,
        "tag",
        "--annotate",
        "--no-sign",
        "--cleanup=verbatim",
        "--file=-",
        f"waiver/{record.id}/{number}",
        f"{tag_name(record.id)}^{{commit}}",
        input_=f"{first}\n\n{waiver.model_dump_json()}\n".encode(),
        environment=git.identity(workspace),
    )
    return waiver


def of_run(workspace: Path, run_id: str) -> tuple[Waiver, ...]:
    """Return a run's waivers, the newest first."""
    return _read(workspace, f"{PREFIX}{run_id}/")


def all_of(workspace: Path) -> tuple[Waiver, ...]:
    """Return the waivers of all runs, the newest first."""
    return _read(workspace, PREFIX)


def holding(waivers: Sequence[Waiver], run_id: str, day: date) -> Waiver | None:
    """Return the newest waiver of a run that has not expired."""
    return next((one for one in waivers if one.run == run_id and one.holds(day)), None)


def _one_line(flag: str, text: str) -> str:
    """Keep what a terminal shows as one line: a blank line would end the tag's subject.

    Raises:
        WaiverRefused: nothing is said, or it is no text.
    """
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    if not text.isascii() and text != text.encode(errors="replace").decode():
        raise WaiverRefused(f"{flag}: expected text in UTF-8. Got: {text!a}.")
    line = " ".join(shown.split())
    if not line:
        raise WaiverRefused(f"{flag}: say it; it stands beside the run for good.")
    return line


def _last_number(workspace: Path, run_id: str) -> int:
    """Return the highest number among a run's waivers, also of those that cannot be read."""
    names = git.text(workspace, "for-each-ref", "--format=%(refname)", f"{PREFIX}{run_id}/")
    last = [name.rpartition("/")[2] for name in names.split()]
    return max((int(number) for number in last if number.isdecimal()), default=0)


def _read(workspace: Path, prefix: str) -> tuple[Waiver, ...]:
    said = git.run(workspace, "for-each-ref", "--format=%(contents:body)%00", prefix)
    found = []
    for body in said.split(b"\0"):
        try:
            found.append(Waiver.model_validate_json(body.strip()))
        except ValidationError:
            continue  # a tag that somebody else put here
    return tuple(sorted(found, key=lambda one: one.granted, reverse=True))
