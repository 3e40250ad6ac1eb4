"""What a cause is, and what is seen besides the metric when causes are ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.intervals import Interval

Component = Literal["preprocessing", "model", "postprocessing", "deployment", "data"]
Strength = Literal["strong", "moderate", "weak"]

UNKNOWN, GAP = "unknown", "sim_to_real_gap"
UNNAMED = (UNKNOWN, GAP)  # what is left once nothing else explains it
OF_VALIDATION = ("leakage", "replay")  # the field is no worse: validation was too good


@dataclass(frozen=True, slots=True, kw_only=True)
class Different:
    """A step whose output differs on the same input; `kind` None where no explanation fits."""

    key: str
    name: str
    kind: str | None
    explained: float = 1.0  # share of the difference that the kind explains
    alternatives: int = 0  # other names that fit as well


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspected:
    """What an examination suspects of the models or of the data; `at` is its place in their list.

    `cost` is what the metric regains once it alone is undone; `explained` the share of a difference
    that its name explains, 1 where it is a fact; `other_kinds` are what would explain it as well.
    """

    at: int
    component: Component | Literal["unknown"]
    kind: str
    cost: Interval | None = None
    p_value: float | None = None
    explained: float | None = None
    other_kinds: tuple[str, ...] = ()

    @property
    def costs(self) -> bool:
        """Whether an intervention shows a loss."""
        return self.cost is not None and self.cost.low > 0

    @property
    def is_fact(self) -> bool:
        """Whether it was read off, not estimated."""
        return self.explained is not None and self.explained >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen besides the metric. Names are for people: nothing is decided by them."""

    steps: Sequence[Different]
    first_differing_step: str | None  # along the chain
    model_differs: bool  # the models answer differently on the same tensors, or on their own
    raw_equal: bool  # ... though their raw outputs are equal
    domains_part: bool  # a second look, at layers or labels, sees simulation leave reality
    rules_differ: bool | None = None  # the postprocessing, on the same raw outputs; None: not asked
    suspects: Sequence[Suspected] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One difference and what it costs.

    Harmless: the whole interval of its cost lies within the margin. Undecided: it may cost nothing,
    or more than that.
    """

    component: Component
    kind: str
    key: str | None
    step: str | None
    explains: Interval | None
    strength: Strength
    harmless: bool
    undone: bool = False  # it costs something alone, and the rest of the candidate makes up for it
    alone: bool = False  # explains what it loses with all else from the reference, see `rank`
    changes: Interval | None = None  # share of answers, of more rows than have labels
    masked: bool = False  # real rows cannot show its cost: the reference fails on them already
    suspect: Suspected | None = None  # who gives it its name
    explained: float = 0.0  # share of what differs that its name explains
    alternatives: int = 0  # other names that fit as well

    @property
    def clear(self) -> bool:
        """Whether something shows that it costs anything."""
        return self.explains is not None and self.explains.low > 0

    @property
    def undecided(self) -> bool:
        """Nothing shows that it costs anything, and nothing that it does not."""
        return not self.clear and not self.harmless and not self.masked


def costs_nothing(loss: Interval, margin: float) -> bool:
    """Tell whether a loss is shown to lie within the margin: not to see one is not to have none.

    >>> costs_nothing(Interval(value=0.001, low=-0.01, high=0.015, n=100), 0.02)
    True
    >>> costs_nothing(Interval(value=0.01, low=-0.2, high=0.22, n=100), 0.02)
    False
    """
    return loss.high <= margin


def strength_of(loss: Interval, *, harmless: bool, margin: float, spread: float) -> Strength:
    """Grade an intervention on pairs; harmless is strong once 3 / n is within the margin too.

    (Hanley 1983: n rows without a single loss are compatible with a share of 3 / n.)
    """
    if harmless:
        return "strong" if 3 * spread / loss.n <= margin else "moderate"
    return "strong" if loss.low > 0 else "weak"
