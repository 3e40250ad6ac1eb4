"""A deploy event: which model, in which image, of which commit is to serve; and its answer."""

import hashlib
import re
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from flows.prefect_api import call
from lineage.provenance import RunRecord

NAME = "assay.deployed"
KEPT_D = 7  # Prefect keeps events for as many days
STORED_WITHIN_S = 30.0
FORMS = {
    "case": (r"[a-z0-9][a-z0-9-]{0,39}", "the name of a case"),
    "model": (r"[A-Za-z0-9][A-Za-z0-9._+@:/-]{0,127}", "a model's version, as in 1.4.2"),
    "digest": (r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", "sha256: and 64 hex digits"),
    "commit": (r"[0-9a-f]{7,64}", "a commit: 7 to 64 hex digits"),
}


class NotADeploy(Exception):  # noqa: N818  reads as the fact that it is
    """What was told is no deploy event; the message names the part."""

    exit_status = 2


class NotStored(Exception):  # noqa: N818  reads as the fact that it is
    """The server took an event and has not stored it: it may be lost."""

    exit_status = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """What a CD system says that it is about to serve."""

    case: str
    model: str
    digest: str
    commit: str

    @classmethod
    def of(cls, told: Any) -> Self:
        """Check what somebody told: letters and signs that mean nothing to a shell or a template.

        Raises:
            NotADeploy: a part is missing or of another form.
        """
        values = {}
        for name, (form, words) in FORMS.items():
            value = told.get(name) if isinstance(told, dict) else None
            if not isinstance(value, str) or not re.fullmatch(form, value):
                shown = "nothing" if value is None else repr(value)[:60]
                raise NotADeploy(f"deploy event: {name}: expected {words}; got {shown}.")
            values[name] = value
        return cls(**values)

    @property
    def id(self) -> str:
        """What makes the same event the same: told twice, it has one id.

        >>> Deploy(case="toy", model="1", digest="sha256:" + "0" * 64, commit="a" * 40).id
        'c9f0b466-9b78-a09e-13b3-5cee3dc0e0dd'
        """
        lines = f"{self.case}\n{self.model}\n{self.digest}\n{self.commit}\n"
        return str(uuid.UUID(hashlib.sha256(lines.encode()).hexdigest()[:32]))

    def body(self, now: datetime) -> dict[str, Any]:
        """Return the event as the server's `/api/events` takes it."""
        return {
            "id": self.id,
            "event": NAME,
            "occurred": now.isoformat(),
            "resource": {"prefect.resource.id": f"assay.case.{self.case}"},
            "payload": asdict(self),
        }

    def words(self) -> list[str]:
        """Return the command that tells it."""
        parts = ["--model", self.model, "--digest", self.digest, "--commit", self.commit]
        return ["assay", "deployed", self.case, *parts]


def raise_event(deploy: Deploy) -> None:
    """Tell the server, and wait until it has stored the event: what it only took dies with it.

    Raises:
        ApiFailed: the server does not answer, or refuses.
        NotStored: it took the event and did not store it in time.
    """
    call("/events", [deploy.body(datetime.now(UTC))])
    deadline = time.monotonic() + STORED_WITHIN_S
    while not is_stored(deploy):
        if time.monotonic() > deadline:
            raise NotStored(
                f"The server took event {deploy.id} and has not stored it in "
                f"{STORED_WITHIN_S:.0f} s. Tell it again: the same event starts one run."
            )
        time.sleep(0.1)


def is_stored(deploy: Deploy) -> bool:
    """Tell whether the server holds this event."""
    found = call("/events/filter", {"filter": {"id": {"id": [deploy.id]}}, "limit": 1})
    return bool(found["events"])


def told_events(now: datetime) -> list[tuple[str, Any]]:
    """Return what deploy events the server holds, oldest first: when, and what was told."""
    since = (now - timedelta(days=KEPT_D)).isoformat()
    asked = {"occurred": {"since": since}, "event": {"name": [NAME]}, "order": "ASC"}
    page = call("/events/filter", {"filter": asked, "limit": 50})
    found = page["events"]
    while page.get("next_page"):
        # The server names its own address as it sees it; of that the query alone is of use.
        page = call(f"/events/filter/next?{page['next_page'].partition('?')[2]}")
        found += page["events"]
    return [(event["occurred"], event["payload"]) for event in found]


def answer(record: RunRecord, *, serves: bool) -> dict[str, Any]:
    """Return the event that says how a run ended.

    A gate that is open, but at a look that was not stated, is told as one that abstains: who waits
    for `assay.gate.open` may serve then.
    """
    verdict = "abstained" if record.verdict == "open" and not serves else record.verdict
    ended = f"gate.{verdict}" if verdict else f"run.{record.state}"
    trigger = record.trigger or {}
    told = {key: trigger[key] for key in ("model", "digest", "commit", "event") if key in trigger}
    related = [
        {"prefect.resource.id": f"assay.case.{record.case}", "prefect.resource.role": "case"}
    ]
    if "event" in told:
        name = f"assay.deploy.{told['event']}"
        related.append({"prefect.resource.id": name, "prefect.resource.role": "deploy"})
    return {
        "id": str(uuid.uuid4()),
        "event": f"assay.{ended}",
        "occurred": datetime.now(UTC).isoformat(),
        "resource": {"prefect.resource.id": f"assay.run.{record.id}"},
        "related": related,
        "payload": {
            "run": record.id,
            "case": record.case,
            "state": record.state,
            "verdict": record.verdict,
            "because": record.because,
            "serves": serves,
            "sentence": record.sentence,
            **told,
        },
    }
