"""What an examination suspects: one possible cause, as every examining stage tells it."""

from typing import Literal

from stages.stage import Estimate, Report, Share

Component = Literal[
    "preprocessing", "model", "postprocessing", "deployment", "data", "unknown"
]  # deployment: preprocessing and model, where they cannot be told apart


class Suspect(Report):
    """One possible cause. `diagnose` weighs all of them together; a stage only tells what it saw.

    The cost is what the metric loses by it, measured by an intervention on paired rows of role
    `diagnose` (undo it, keep the rest); None where it was seen and not measured.
    """

    component: Component
    kind: str  # train_mode, label_map, class_prior, ...
    title: str  # one line for people, with where it is
    where: str | None = None  # the layer, channel, class or set that it is about
    cost: Estimate | None = None
    p_value: float | None = None  # adjusted for what else the stage looked at
    explained: Share | None = None  # of the difference, by naming it so; 1 where it is a fact
    other_kinds: list[str] = []  # noqa: RUF012  pydantic copies it; what explains it as well
    evidence: list[str]
    action: str = ""  # what restores service now
    questions: list[str] = []  # noqa: RUF012  pydantic copies it; for whoever owns the data


class Ranked(Report):
    """One answer to "what broke", with how sure that is."""

    component: Component | Literal["none"]  # none: nothing broke
    kind: str  # unknown: none of the kinds that are known; none: nothing broke
    title: str = ""  # the same in words
    another_name: bool = False  # of something that has a likelier one: in doubt it is this
    confidence: Share  # calibrated on planted faults, see docs/method.md
