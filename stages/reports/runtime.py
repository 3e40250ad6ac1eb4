"""Whether both sides' models compute the same of the same tensors, layer by layer."""

from stages.reports.suspect import Suspect
from stages.stage import At, NotApplicable, Plot, Report, Share

RUNTIME = At("artifacts/runtime/report.json")
RUNTIME_LAYERS = At(  # layer,relative_error
    "artifacts/runtime/layers.csv",
    plot=Plot("runtime", "layer", "relative_error", "relative error, candidate to reference"),
)


class LayerPair(Report):
    """One layer of both models, given the same tensors."""

    layer: str  # the reference's name
    candidate: str  # the candidate's name of it
    relative_error: float | None  # of the pooled values; None: see note
    equal: bool
    max_abs: list[float | None]  # unpooled: reference, candidate; None: nothing finite
    num_not_finite: list[int]  # unpooled: reference, candidate
    operator: list[str]  # reference, candidate: as the runtime says it; "": it does not
    note: str | None = None


class Arrangement(Report):
    """The same rows asked once more in another arrangement."""

    name: str  # twice, alone, halves, sorted
    largest: float | None  # difference of the raw outputs, over their own spread; None: see error
    changed: Share | None  # of the labels
    error: str | None = None


class SideInvariance(Report):
    """Whether a side's answers depend on what else is in the batch."""

    side: str
    rows: int
    arrangements: list[Arrangement]
    training: list[str]  # modules that stay in training mode after the model is put to evaluate
    why_not: str | None = None
    moved: bool = False  # some arrangement differs beyond the tolerance


class OutputPair(Report):
    """What both models answer to the reference's tensors."""

    rows: int
    relative_error: float | None
    share_labels: Share | None  # rows whose labels differ, each side's own postprocessing
    relation: str  # equal, softmax_doubled, softmax_missing, temperature, row_shift, permuted, ...
    says: str  # the relation in words
    precision: str | None = None  # float16, bfloat16: the type that the candidate's numbers fit


class RuntimeReport(Report):
    """Layers, arrangements, weights and outputs of both sides; what is suspected of them."""

    suspects: list[Suspect]
    layers: list[LayerPair]
    first_layer: str | None  # the first that differs beyond the tolerance
    why_no_layers: str | None
    invariance: list[SideInvariance]
    outputs: OutputPair | None
    why_no_outputs: str | None
    weights: str  # same, rounded, quantised, different, not_loaded, unknown
    weights_says: str
    same_postprocess: bool | None  # both rules answer alike to the same raw outputs
    tolerance: float
    rows: int  # shared tensors that the layers were read of


RuntimeAnswer = RuntimeReport | NotApplicable
