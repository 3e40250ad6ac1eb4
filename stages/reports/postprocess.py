"""What each side's postprocessing makes of the other side's raw outputs."""

from stages.stage import At, Report

POSTPROCESS = At("artifacts/postprocess-{side}/report.json")
POSTPROCESSED = At("artifacts/postprocess-{side}/labels")
"""`<set>.labels.npy` (rows,), of the sets `real-reference` and `real-candidate` (whose steps made
the tensors): this side's postprocessing of the other side's raw outputs. In the type of
`stages.reports.predict.OUTPUTS`. A set that is not there says why in the report's `errors`;
`sets.json`: `sets` that are there (DVC keeps no empty folder), and `probe`: null, or what the rule
was asked besides, `{classes, reach, width, shares, shifts}`: `probe.labels.npy` (classes, steps)
holds the labels of made-up outputs in which one class's score goes from -reach to reach, the others
0; `shifts`: share of labels that change when a number is added to a row's outputs, or null."""


class PostprocessReport(Report):
    """One side's rule on the other side's raw outputs."""

    side: str
    sets: dict[str, int]  # set -> rows
    errors: dict[str, str]  # set -> why there are no labels
    same_rule: bool | None  # it answers as the other side's own rule does; None: nothing to compare
    says: str  # module:function, or what stands in for it
