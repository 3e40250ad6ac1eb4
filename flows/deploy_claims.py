"""Which flow run has a deploy event: the same event told twice, or twice at once, has one run."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from containers.owner import Owner
from flows.deploy_event import Deploy, NotADeploy
from lineage import atomic

CLAIMS = ".assay/deploys"


class UnderWay(Exception):  # noqa: N818  reads as the fact that it is
    """An event cannot be asked again, as its run has not ended."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What `.assay/deploys/<event>.json` says: files outlive serve, the server and a reboot."""

    event: str
    deploy: Deploy
    flow_run_id: str
    owner: str
    run: str | None = None  # None: it has not begun
    ended: bool = False
    error: str | None = None  # why it could not begin

    def is_open(self) -> bool:
        """Tell whether its process died before it ended: then another may go on with the event."""
        return not self.ended and self.is_left()

    def is_left(self) -> bool:
        """Tell whether its process is gone."""
        owner = Owner.parse(self.owner)
        return owner is None or owner.is_dead()


def take(workspace: Path, deploy: Deploy, flow_run_id: str) -> Claim | None:
    """Claim an event for this process; None where another flow run has it, or had it.

    Prefect starts a flow run anew where a person asks for that: it has its own event again.
    """
    with _alone(workspace):
        found = read(workspace, deploy.id)
        again = found is not None and found.flow_run_id == flow_run_id and found.is_left()
        if found and not again and not found.is_open():
            return None
        claim = Claim(
            event=deploy.id, deploy=deploy, flow_run_id=flow_run_id, owner=str(Owner.me())
        )
        _write(workspace, claim)
        return claim


def begun(workspace: Path, claim: Claim, run: str) -> Claim:
    """Write down which run the event has."""
    known = replace(claim, run=run)
    _write(workspace, known)
    return known


def ended(workspace: Path, claim: Claim, error: str | None = None) -> None:
    """Write down that the event is answered, however: it starts nothing any more."""
    known = read(workspace, claim.event) or claim  # with the run that it has by now
    _write(workspace, replace(known, ended=True, error=error))


def reopen(workspace: Path, event: str) -> None:
    """Let an event that has an answer be asked once more.

    Raises:
        UnderWay: a run is about to answer it.
    """
    with _alone(workspace):
        found = read(workspace, event)
        if found is None or found.is_open():
            return
        if not found.ended:
            raise UnderWay(f"Run {found.run or 'of event ' + event} has not ended: wait for it.")
        _write(
            workspace, replace(found, owner="", flow_run_id="", run=None, ended=False, error=None)
        )


def read(workspace: Path, event: str) -> Claim | None:
    """Return who has an event; None where nobody has."""
    try:
        known = json.loads(_file(workspace, event).read_text(encoding="utf-8"))
        claim = Claim(**{**known, "deploy": Deploy.of(known["deploy"])})
    except (OSError, ValueError, TypeError, KeyError, RecursionError, NotADeploy):
        return None  # absent, or cut short by a power cut
    texts = (claim.flow_run_id, claim.owner, claim.run or "", claim.error or "")
    return claim if claim.deploy.id == event and all(isinstance(t, str) for t in texts) else None


def _write(workspace: Path, claim: Claim) -> None:
    atomic.write(_file(workspace, claim.event), json.dumps(asdict(claim), indent=2) + "\n")


def _file(workspace: Path, event: str) -> Path:
    return workspace / CLAIMS / f"{event}.json"


@contextmanager
def _alone(workspace: Path) -> Iterator[None]:
    path = workspace / ".assay/deploys.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
