"""Where in the network sim and real part."""

from typing import Literal

from stages.stage import At, NotApplicable, Plot, Report

FEATURES = At("artifacts/features/report.json")
LAYERS = At(  # layer,effect,p_holm
    "artifacts/features/layers.csv",
    plot=Plot("layers", "layer", "effect", "effect, sim against real"),
)
PROJECTION = At(
    "artifacts/features/projection.csv"
)  # domain,label,x,y; no line with `pictures: none`


class LayerGap(Report):
    """One layer's activations, sim against real."""

    layer: str
    width: int
    mmd2: float
    p_value: float
    p_holm: float
    effect: float
    permuted: str  # groups or rows
    smallest_p_value: float | None = None  # the least that so many groups allow
    compared: Literal["pairs", "frequencies"] = "pairs"  # see `assay.mmd`, `assay.streamed_mmd`
    mmd2_error: float | None = None  # standard error of mmd2; None: all pairs of rows were formed
    effect_error: float | None = None  # at most, of an effect that a sample of the rows shows


class FeaturesReport(Report):
    """The gap layer by layer, from the input on."""

    layers: list[LayerGap]
    begins_at: str | None  # the first layer whose Holm-adjusted p is at most alpha
    can_tell: bool = True  # False: so few groups that no p could reach alpha; silence means nothing
    alpha: float
    effect_means: str
    no_effect: float = 0.5  # the effect where sim and real are alike
    num_sim: int
    num_real: int
    projected_layer: str
    projected_explained: list[float]
    how: str = ""  # what is of a sample and how far that may be off; empty: all pairs of rows
    num_not_finite: int = 0  # rows whose features hold a NaN or an infinity: not compared


FeaturesAnswer = FeaturesReport | NotApplicable
