"""What restores service: mitigations fitted on role fit and judged on role prove."""

from typing import Literal

from stages.stage import At, Estimate, MetricName, NotApplicable, Report, Share

MITIGATE = At("artifacts/mitigate/report.json")
OFFERS = At("artifacts/mitigate/offers")
"""`<kind>/`: the file of an offer and `load.txt`, two lines of Python that load and use it with
numpy (safetensors where it holds weights) and nothing of ours, run in that folder. They take
`outputs` (rows, outputs), `tensors` (rows, ...), `labels` or `confidence` (rows,) of the candidate,
and leave `answer`. `abstain/` belongs to the safe mode. `kinds.json` lists what is there: it may be
nothing, and DVC keeps no empty folder."""
ABSTAIN = "abstain"

Kind = Literal[
    "reference_steps",
    "undo_transform",
    "align_inputs",
    "refresh_statistics",
    "last_layer",
    "output_bias",
    "class_prior",
    "threshold",
    "relabel",
    "straight_line",
    "monotone_answers",
    "temperature",
    "isotonic",
    "reference_model",
    "reference_side",
    "last_good",
]
Measure = Literal["metric", "brier"]  # brier: of the confidence; 0 is best, and less is better
Acts = Literal["steps", "tensors", "model", "outputs", "labels", "confidence", "deployment"]


class OfferFile(Report):
    """One file of an offer, in `offers/<kind>/`."""

    name: str
    sha256: str


class Offer(Report):
    """One mitigation that was tried, with what it does on rows that nothing was fitted to."""

    kind: Kind
    title: str
    acts_on: Acts
    measure: Measure
    fitted: int  # rows of role fit that it was fitted to; 0: nothing was fitted
    before: Estimate  # on held-out real rows: the candidate as it is deployed
    after: Estimate
    gain: Estimate  # paired, row by row; positive is better, whatever the measure
    p_value: float
    p_holm: float  # adjusted for all that were tried
    sim: Estimate | None = None  # the gain on validation, paired
    why_no_sim: str = ""
    accepted: bool
    why: str  # why it is accepted, or not
    files: list[OfferFile]
    load: list[str]  # the lines of load.txt


class NotOffered(Report):
    """One mitigation that could not be tried."""

    kind: Kind
    why: str


class SafeMode(Report):
    """One way to serve right now, and what it costs, on held-out real rows."""

    name: str
    says: str
    coverage: Estimate  # share of rows that are answered
    answered: Estimate | None  # the metric of what is answered; None: nothing is
    human_per_1000: Estimate  # cases that a human must look at
    threshold: float | None = None  # of the confidence


class MitigateReport(Report):
    """All that was tried, the best first; and how to serve until it is mended."""

    metric: MetricName = "accuracy"
    unit: str | None = None
    offers: list[Offer]
    not_offered: list[NotOffered]
    safe_mode: list[SafeMode]
    why_no_abstaining: str = ""
    margin: float  # by which sim may get worse, in the metric
    alpha: Share  # what Holm's adjusted p is held to

    def offer(self, kind: str) -> Offer | None:
        """Return the offer of a kind; None where it was not tried."""
        return next((one for one in self.offers if one.kind == kind), None)

    @property
    def accepted(self) -> list[Offer]:
        """Those that are shown to help."""
        return [one for one in self.offers if one.accepted]


MitigateAnswer = MitigateReport | NotApplicable
