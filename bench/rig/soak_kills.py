"""Where a soak's runs are killed: at a named point of the code, after a time, or from outside."""

import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

RESTORED: Final = "outputs are brought from the cache"
POINTS: Final[dict[str, tuple[str, str, int]]] = {
    # name: (module, attribute, how often a run calls it, about)
    "a file is made safe on the disk": ("os", "fsync", 60),
    "a file is put in place": ("lineage.atomic", "write", 30),
    "git is called": ("lineage.git", "run", 18),
    "a run's folder is made": ("lineage.runs", "_make_folder", 1),
    "the worktree is checked out": ("lineage.runs", "_check_out", 1),
    "a job's folder is filled": ("lineage.execute", "fill", 4),
    "a stage is started": ("containers.process_runner", "_start", 4),
    "outputs are renamed into place": ("lineage.execute", "swap", 4),
    "outputs are put into the cache": ("lineage.dvc_repo.DvcRepo", "store", 4),
    "an entry is recorded": ("lineage.dvc_repo.DvcRepo", "record", 4),
    "dvc.lock is written": ("lineage.lock_text", "write", 4),
    "a stage's provenance is noted": ("lineage.engine.Engine", "_note", 4),
    RESTORED: ("lineage.dvc_repo.DvcRepo", "checkout", 2),
    "the record is committed": ("lineage.runs", "_commit", 1),
    "the run is tagged": ("lineage.runs", "tag", 1),
    "the worktree is removed": ("lineage.runs", "_remove", 1),
    "a folder is removed": ("shutil", "rmtree", 12),
    "a dead run is closed": ("lineage.runs", "close", 1),
}

FROM_OUTSIDE: Final = (
    "flow",
    "stage",
    "flow and guard",
    "flow and stage",
    "told to stop",
    "server",
)
"""Whom the soak kills (or tells) from outside, at a share of the time that a whole run takes."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One run's fate; `point` is a key of POINTS, `whom` of FROM_OUTSIDE, both "" for no kill."""

    point: str = ""
    when: str = ""  # before or after the call
    nth: int = 0
    whom: str = ""
    share: float = 0.0

    def told(self) -> str:
        """Say it in a few words."""
        if self.point:
            return f"{self.when} {self.point} ({self.nth})"
        return f"{self.whom} at {self.share:.2f} of a run" if self.whom else "none"


def draw(seed: int, number: int) -> Kill:
    """Return the fate of a soak's run: the same for the same seed and number."""
    dice = random.Random(f"{seed}/{number}")  # noqa: S311  a fate, not a secret
    kind = dice.random()
    if kind < 0.05:
        return Kill()
    if kind < 0.70:
        point = dice.choice(sorted(POINTS))
        nth = dice.randint(1, POINTS[point][2])
        return Kill(point=point, when=dice.choice(("before", "after")), nth=nth)
    # A server takes its time to come up again: one in forty.
    whom = "server" if dice.random() < 0.08 else dice.choice(FROM_OUTSIDE[:-1])
    return Kill(whom=whom, share=dice.uniform(0.02, 1.0))


def arm(kill: Kill) -> None:
    """Make this process kill itself at a point."""
    if not kill.point:
        return
    place, name, _ = POINTS[kill.point]
    owner = found(place)
    setattr(owner, name, _deadly(getattr(owner, name), kill))


def found(place: str) -> Any:
    import importlib

    try:
        return importlib.import_module(place)
    except ModuleNotFoundError:
        module, _, name = place.rpartition(".")
        return getattr(importlib.import_module(module), name)


def _deadly(call: Callable[..., Any], kill: Kill) -> Callable[..., Any]:
    calls = 0

    @wraps(call)
    def counted(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        mine = calls == kill.nth
        if mine and kill.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = call(*args, **named)
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return counted
