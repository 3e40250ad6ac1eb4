"""How long a run may take: what a person states, what is left, and how it is told."""

import re
import time
from dataclasses import dataclass, field

DEFAULT = "2h"
UNITS_S = {"s": 1, "m": 60, "h": 3600}
FORM = r"([0-9]{1,6})\s*([smh])"


def seconds(text: str) -> float:
    """Read a budget.

    >>> seconds("90s"), seconds("10m"), seconds("2h")
    (90.0, 600.0, 7200.0)

    Raises:
        ValueError: it is none; the message says how one is written.
    """
    found = re.fullmatch(FORM, text.strip())
    if found is None or int(found[1]) == 0:
        raise ValueError(f"expected a time as in 90s, 10m or 2h; got {text!r}")
    return float(int(found[1]) * UNITS_S[found[2]])


def stated(text: str) -> str:
    """Check a budget and return it as it is told: without blanks.

    >>> stated("2 h")
    '2h'
    """
    seconds(text)
    return "".join(text.split())


def clock(passed_s: float) -> str:
    """Write a time as on a clock.

    >>> clock(5), clock(754), clock(7200)
    ('0:05', '12:34', '2:00:00')
    """
    minutes, rest = divmod(int(passed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@dataclass(slots=True)
class Budget:
    """A run's time, counted from when it is made."""

    text: str = DEFAULT
    started: float = field(default_factory=time.monotonic)

    @property
    def passed_s(self) -> float:
        """How long the run has taken."""
        return time.monotonic() - self.started

    def left_s(self, share: float = 1.0) -> float:
        """Return what is left of a share of it; negative once that is over."""
        return share * seconds(self.text) - self.passed_s

    def longer(self) -> str:
        """Return a budget that is worth a try where this one ran out.

        >>> Budget("90s").longer(), Budget("3h").longer()
        ('2h', '6h')
        """
        enough = seconds(self.text) < seconds(DEFAULT)
        return DEFAULT if enough else f"{int(2 * seconds(self.text)) // 3600}h"

    def told(self) -> str:
        """Say how much of it is used up."""
        return f"{clock(self.passed_s)} of {clock(seconds(self.text))}"
