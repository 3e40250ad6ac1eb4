"""What is written down of a stage and of a run: everything that must not be hashed."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

How = Literal["unchanged", "restored", "ran", "failed", "not examined", "apart"]
"""Not examined: there was no time for it. Apart: it ran on what is not whole, outside of DVC."""
DONE: tuple[How, ...] = ("unchanged", "restored", "ran")
"""How a stage came to be whose outputs are whole and in the cache."""

State = Literal["done", "failed", "cancelled"]
Verdict = Literal["open", "closed", "abstained"]


class Hashes(BaseModel):
    """One dependency's MD5 before the stage ran and after, each measured; an edit was refused.

    `after` is None where no process ended well here: the stage failed, or was not run.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    before: str | None
    after: str | None = None


class Limits(BaseModel):
    """What the stage was held to."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    threads: int
    memory_bytes: int
    timeout_s: float


class Provenance(BaseModel):
    """How one stage came to be as it is.

    For a stage that was unchanged or restored, all about its process (commit, isolation, image,
    times, exit, log, `inside`) is what was written when it ran, in the run `from_run`; None is
    unknown.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # a newer file stays readable

    schema_version: Literal[1] = 1
    name: str
    question: str
    how: How
    run_id: str
    from_run: str | None = None  # where it ran, if not here
    commit: str | None = None  # that was checked out where it ran
    flow_run_id: str | None = None  # Prefect's, of where it ran
    inputs: dict[str, Hashes]  # inputs and sources
    outputs: dict[str, str]  # the folder (a .dir hash) and each declared file
    params: dict[str, Any]
    environment: str | None
    isolation: str | None = None
    image: str | None = None
    image_id: str | None = None
    base_digest: str | None = None
    gpu: bool | None = None
    limits: Limits
    exit_reason: str | None = None
    exit_code: int | None = None
    started: str | None = None  # ISO 8601, UTC
    ended: str | None = None
    wall_s: float = 0.0
    log: str | None = None
    log_sha256: str | None = None
    inside: dict[str, Any] | None = None  # what the process saw of itself
    host: dict[str, Any] | None = None
    set_aside: list[str] = []  # objects that were damaged in the cache, so that it ran once more


class RunRecord(BaseModel):
    """One run: `run.json` in its tag. `list_runs` leaves `stages` empty."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: Literal[1] = 1
    id: str
    case: str
    state: State
    verdict: Verdict | None = None
    because: str = ""  # what keeps the gate from opening
    look: dict[str, Any] | None = None  # at held-out rows: hashes of them and of what was answered
    partial: str = ""  # why it was cut short; "": it is whole
    not_examined: list[str] = []  # the stages that there was no time for
    sentence: str
    commit: str
    parent: str
    dirty: list[str] = []
    isolation: str
    note: str = ""
    started: str
    ended: str
    flow_run_id: str | None = None
    of: str | None = None  # the run that this one repeats, wholly or from a stage on
    trigger: dict[str, Any] | None = None  # how it was started: `by` hand, schedule or deploy
    stages: list[Provenance] = []
    error: str | None = None
