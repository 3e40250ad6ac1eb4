"""All that a sentence of the diagnosis may speak of."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.causes import Cause
from assay.intervals import Interval
from assay.power import Needed
from assay.shares import (
    EVERYTHING,
    MODEL,
    NOTHING,
    POSTPROCESSING,
    PREPROCESSING,
    Shares,
)
from stages.metric import Metric
from stages.reports.environments import EnvironmentsReport
from stages.reports.features import FeaturesAnswer
from stages.reports.inputs import InputsAnswer
from stages.reports.parity import OwnDifference, ParityAnswer, ParityReport
from stages.reports.predict import PredictReport
from stages.reports.probe import ProbeAnswer
from stages.reports.since import SinceAnswer
from stages.reports.suspect import Suspect
from stages.reports.swap import SwapAnswer, SwappedStep, SwapReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The figures and the examinations."""

    metric: Metric  # of the real rows
    own: Metric  # the case's, of validation
    shares: Shares
    sim: Interval | None  # the reference on validation; None: it has no labels
    parity: ParityAnswer
    swap: SwapAnswer
    features: FeaturesAnswer
    probe: ProbeAnswer
    candidate: PredictReport
    agreement: Interval | None  # both models on the same tensors: share of rows that agree
    labelled: bool
    margin: float  # a loss in the metric that nobody would miss
    margin_share: float  # the same, as a share
    within: float  # numbers this near agree
    drop: float  # that `needed` labels would show
    needed: Needed | None
    at_hand: int  # real rows, labelled or not
    deviations: tuple[float, float] | None  # of the targets, on validation and on real rows
    environments: EnvironmentsReport | None = None
    inputs: InputsAnswer | None = None
    since: SinceAnswer | None = None
    suspects: Sequence[Suspect] = ()  # of all stages; a cause's own stands at its place there
    unexamined: Sequence[str] = ()  # by stages that could not answer, and why
    not_finite: str = ""  # of raw outputs, see `not_finite.says`

    def levels(self) -> list[tuple[str, Metric, Interval]]:
        """Name each level with its metric, validation first and the deployment last."""
        shares, known = self.shares, self.labelled
        found = [("simulation", self.own, self.sim)]
        if known:
            found.append(("real, reference", self.metric, shares.reference))
        found.append(("real, last good", self.metric, shares.last_good))
        if shares.last != NOTHING or not known:
            found.append((self.furthest, self.metric, shares.furthest))
        return [(name, metric, level) for name, metric, level in found if level is not None]

    @property
    def furthest(self) -> str:
        """What the last level is of."""
        if self.shares.last == EVERYTHING:
            return "real, as deployed" if self.labelled else "real, agreement with the reference"
        if self.shares.last == NOTHING:
            return "real, reference"
        return "real, reference behind the candidate's preprocessing"

    def mended(self, causes: list[Cause], *, same_model: bool) -> Interval | None:
        """Find the level with the parts of these causes from the reference; None: not measured.

        Where the models answer alike, a recorded one need not be asked again.
        """
        names = {self._exchanged(cause) for cause in causes}
        apart = self.shares.crossed.get(
            (PREPROCESSING not in names, MODEL not in names, POSTPROCESSING not in names)
        )
        if apart is not None:
            return apart
        parts = {MODEL if name == POSTPROCESSING else name for name in names}
        left = NOTHING if "deployment" in parts else EVERYTHING - parts
        if left not in self.shares.cells and same_model and left <= {MODEL}:
            left = NOTHING
        return self.shares.cells.get(left)

    def is_rule(self, cause: Cause) -> bool:
        """Tell whether a cause is the postprocessing itself, which was exchanged apart."""
        part = self.shares.postprocessing
        if cause.component != POSTPROCESSING or part is None or cause.explains is None:
            return False
        return cause.explains == self.shares.bounded(part)

    def _exchanged(self, cause: Cause) -> str:
        """Name the part that was exchanged to find a cause: its name may be of another one."""
        in_model = cause.component == POSTPROCESSING and not self.is_rule(cause)
        return MODEL if in_model else cause.component

    def suspect(self, cause: Cause) -> Suspect | None:
        """Find what gives a cause its name."""
        return None if cause.suspect is None else self.suspects[cause.suspect.at]

    @property
    def num_differing(self) -> int:
        """How many steps differ by themselves."""
        own = self.parity.own if isinstance(self.parity, ParityReport) else []
        return sum(not one.equal for one in own)

    def own_difference(self, cause: Cause) -> OwnDifference | None:
        """Find the step that a cause is about."""
        if not isinstance(self.parity, ParityReport):
            return None
        return next((own for own in self.parity.own if own.key == cause.key), None)

    def swapped(self, cause: Cause) -> SwappedStep | None:
        """Find the exchange of the step that a cause is about."""
        if not isinstance(self.swap, SwapReport):
            return None
        return next((step for step in self.swap.steps if step.key == cause.key), None)
