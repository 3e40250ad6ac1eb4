"""What case.yaml says of runs that start by themselves: when, in which form, and who is told."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from flows.budget import stated

FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
NAMES = {
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
Told = Literal["open", "closed", "abstained", "failed"]


def is_time(text: Any) -> Any:
    """Check a budget before its type is asked: 90 is what a person writes who knows no units."""
    try:
        return stated(text if isinstance(text, str) else f"{text}")
    except ValueError as error:  # what was got is told beside each fault
        raise ValueError(str(error).partition(";")[0]) from None


def _is_cron(text: str) -> str:
    """Check the five fields of a cron line.

    >>> _is_cron("*/15 6-18 * * mon-fri")
    '*/15 6-18 * * mon-fri'
    """
    fields = text.split()
    if len(fields) != len(FIELDS):
        names = " ".join(name for name, _, _ in FIELDS)
        raise ValueError(f"expected five fields ({names}), as in 0 6 * * mon-fri")
    for field, (name, low, high) in zip(fields, FIELDS, strict=True):
        for part in field.lower().split(","):
            span, slash, step = part.partition("/")
            ends = [_number(end, name, low) for end in span.split("-")] if span != "*" else []
            well_stepped = not slash or re.fullmatch(r"0*[1-9][0-9]{0,2}", step)
            inside = all(end is not None and low <= end <= high for end in ends)
            if not well_stepped or not inside or len(ends) > 2:  # noqa: PLR2004  sat-sun goes round
                raise ValueError(f"{name}: {part} is none from {low} to {high}")
    return text


def _number(text: str, name: str, low: int) -> int | None:
    if text in NAMES.get(name, ()):
        return NAMES[name].index(text) + low
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) else None


def _is_zone(text: str) -> str:
    try:
        datetime.now(ZoneInfo(text))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("expected a time zone, as in Europe/Berlin or UTC") from None
    return text


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


Time = Annotated[str, BeforeValidator(is_time)]


class Hours(_Part):
    """When something happens by itself."""

    cron: Annotated[str, AfterValidator(_is_cron)]
    timezone: Annotated[str, AfterValidator(_is_zone)] = "UTC"


class Schedule(Hours):
    """When a case is examined by itself."""

    budget: Time | None = None  # None: the case's


class Release(_Part):
    """How a deploy event is examined."""

    budget: Time | None = None  # None: the case's
    isolation: Literal["auto", "docker", "process"] = "auto"


class Notify(_Part):
    """Who is told how a run ended, and of which ends."""

    webhook: str | None = None  # a file that holds the address: who knows it may write there
    command: list[str] | None = None  # a program and its words; the text comes on its stdin
    on: list[Told] = ["closed", "abstained", "failed"]

    @model_validator(mode="before")
    @classmethod
    def _holds_no_secret(cls, given: Any) -> Any:
        # Before the fields are looked at: their faults tell what was got, and this is a secret.
        if isinstance(given, dict) and "://" in str(given.get("webhook")):
            raise ValueError(
                "webhook: case.yaml is committed; write the address into a file that only you can "
                "read (chmod 600), as .assay/secrets/webhook, and name that file here"
            )
        return given

    @model_validator(mode="after")
    def _tells_somebody(self) -> "Notify":
        if not self.webhook and not self.command:
            raise ValueError("state webhook (a file), command (a list of words), or both")
        return self
