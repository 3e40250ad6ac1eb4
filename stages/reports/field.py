"""What in the field's data costs the metric: interventions on paired rows, prior, labels."""

from stages.reports.alter import Domain, Family
from stages.reports.suspect import Suspect
from stages.stage import At, Estimate, MetricName, NotApplicable, Report, Share

FIELD = At("artifacts/field/report.json")


class Experiment(Report):
    """One alteration and what became of the metric, on the same rows."""

    key: str
    title: str
    kind: str
    domain: Domain
    family: Family
    simplicity: int
    where: str | None = None
    level: Estimate  # of the metric as people know it
    change: Estimate  # real: what is regained; sim: what is lost; more is more
    p_holm: float | None = None  # of what is regained, over all alterations tried; sim: None
    same_as: str | None = None  # the key of a simpler one that mends the same rows


class Triage(Report):
    """One of the experiments that people do by hand."""

    name: str
    level: Estimate
    change: Estimate | None  # against the reference on real rows; negative is a loss


class Ablated(Report):
    """One channel set to its mean in simulation, in both domains: what it is worth in each."""

    channel: str
    lost_sim: Estimate
    lost_real: Estimate


class LagPoint(Report):
    """A channel moved in time."""

    channel: str
    lag: int  # samples; 0 is as it is
    level: Estimate


class ClassShare(Report):
    """One class's share."""

    name: str
    sim: Share
    real: Share  # by the labels
    estimated: Share | None  # without labels, by the confusions in simulation (BBSE)
    right_sim: Share | None
    right_real: Share | None


class PriorReport(Report):
    """Whether classes are as frequent as in simulation, and what that explains."""

    classes: list[ClassShare]
    explains: Estimate  # of the loss: with the field's shares and simulation's right ones
    p_shift: float  # that shares differ by chance
    p_assumption: float  # that within a class answers are as in simulation; small: they are not
    holds: bool  # the assumption was not refuted


class NoisePair(Report):
    """Rows of one label that look like another class."""

    label: str
    looks_like: str
    n: int


class NoiseReport(Report):
    """Whether labels of real rows are wrong, rather than the answers."""

    share: Estimate  # of labels that neighbours and a sure answer contradict, less simulation's
    confirmed: int  # wrong answers that neighbours give the row, against its label
    refuted: int  # wrong answers whose row's neighbours have its label
    pairs: list[NoisePair]
    says: str


class NamedConfusion(Report):
    """A systematic error."""

    kind: str  # everything_to_one, swallowed, exchanged, off_by_one, mirrored
    title: str
    rows: int


class ConfusionReport(Report):
    """Truth by answer on real rows of role diagnose, as it is and after the best relabelling."""

    before: list[list[int]]
    after: list[list[int]] | None  # None: no relabelling regains anything
    relabel: list[int] | None  # answer -> class, found on other rows
    regained: Estimate | None
    named: list[NamedConfusion]


class FieldReport(Report):
    """The suspects, the likeliest first, and every experiment."""

    metric: MetricName
    unit: str | None
    sim: Estimate  # the metric as people know it
    real: Estimate
    gap: Estimate
    channels: list[str]
    experiments: list[Experiment]
    num_tried: int  # alterations of real rows that p-values are adjusted for
    triage: list[Triage]
    ablation: list[Ablated]
    lags: list[LagPoint]
    prior: PriorReport | None
    noise: NoiseReport | None
    confusion: ConfusionReport | None
    remaining: Estimate | None  # of the gap, beside the first suspect
    suspects: list[Suspect]
    errors: dict[str, str] = {}  # noqa: RUF012  pydantic copies it; alteration -> why no answer


FieldAnswer = FieldReport | NotApplicable
