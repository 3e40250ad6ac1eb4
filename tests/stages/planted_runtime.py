"""Answers of runtime and replay as the page gets them: all alike, and something found."""

from stages.reports.replay import Leakage, ReplayReport
from stages.reports.runtime import (
    Arrangement,
    LayerPair,
    OutputPair,
    RuntimeReport,
    SideInvariance,
)
from stages.reports.suspect import Suspect
from stages.stage import Estimate

LAYERS = ("conv1", "bn1", "relu1", "pool", "conv2", "fc")


def _pair(name, error, largest, bad=0):
    operators = ["MaxPool2d(ceil_mode=False)", "MaxPool2d(ceil_mode=True)"]
    return LayerPair(
        layer=name,
        candidate=name,
        relative_error=error,
        equal=error is not None and error < 1e-4,
        max_abs=largest,
        num_not_finite=[0, bad],
        operator=operators if name == "pool" and error else [name.title()] * 2,
    )


def _side(side, sizes=(0.0, 1e-6, 0.0, 1e-6), changed=0.0, training=()):
    names = ("twice", "alone", "halves", "sorted")
    return SideInvariance(
        side=side,
        rows=32,
        arrangements=[
            Arrangement(name=name, largest=size, changed=changed if size > 0.1 else 0.0)
            for name, size in zip(names, sizes, strict=True)
        ],
        training=list(training),
        moved=max(sizes) > 0.1,
    )


def _runtime(**over):
    found = {
        "suspects": [],
        "layers": [_pair(name, 0.0, [3.0, 3.0]) for name in LAYERS],
        "first_layer": None,
        "why_no_layers": None,
        "invariance": [_side("reference"), _side("candidate")],
        "outputs": OutputPair(
            rows=300, relative_error=0.0, share_labels=0.0, relation="equal", says="equal"
        ),
        "why_no_outputs": None,
        "weights": "same",
        "weights_says": "Both sides hold the same numbers.",
        "same_postprocess": True,
        "tolerance": 1e-4,
        "rows": 64,
    }
    return RuntimeReport(**found | over)


EQUAL = _runtime()


def halves():
    """Overflow at `conv2`, another pool before it, batch norm in training mode."""
    errors = [0.0, 2e-7, 3e-7, 0.021, None, None]
    ranges = [[3.1, 3.1], [2.5, 2.5], [2.5, 2.5], [2.5, 2.6], [91200.0, 65504.0], [12.0, None]]
    bad = [0, 0, 0, 0, 214, 320]
    return _runtime(
        suspects=[
            Suspect(
                component="model",
                kind="half_precision_overflow",
                title="The candidate's layers overflow in half precision.",
                where="conv2",
                evidence=["`conv2` exceeds 65504 in the reference: float16 cannot hold it."],
            )
        ],
        layers=[_pair(*one) for one in zip(LAYERS, errors, ranges, bad, strict=True)],
        first_layer="pool",
        invariance=[
            _side("reference"),
            _side("candidate", (0.0, 0.8, 0.3, 1.2), 0.25, ["bn1: BatchNorm2d"]),
        ],
        outputs=OutputPair(
            rows=300,
            relative_error=0.43,
            share_labels=0.31,
            relation="unknown",
            says="",
            precision="float16",
        ),
        weights="rounded",
        weights_says="The candidate's weights are the reference's in float16.",
        same_postprocess=False,
    )


def _leakage(**over):
    found = {
        "num_train": 3000,
        "num_validation": 900,
        "num_exact": 0,
        "num_near": 0,
        "num_shared_groups": 0,
        "num_in_shared_groups": 0,
        "rows": [],
        "all_rows": Estimate(value=0.96, low=0.94, high=0.98, n=900, groups=45),
        "without": None,
    }
    return Leakage(**found | over)


def _replay(leakage, suspects=(), **over):
    found = {
        "suspects": list(suspects),
        "reported": 0.97,
        "reported_by": "training",
        "why_not_reported": None,
        "measured": leakage.all_rows,
        "reached": True,
        "leakage": leakage,
    }
    return ReplayReport(**found | over)


CLEAN = _replay(_leakage())


def leaky():
    """A third of validation is training's."""
    without = Estimate(value=0.91, low=0.88, high=0.94, n=600, groups=30)
    leakage = _leakage(
        num_exact=260, num_near=40, num_shared_groups=15, num_in_shared_groups=300,
        rows=["sim_3", "sim_7"], without=without,
    )  # fmt: skip
    told = Suspect(
        component="data",
        kind="leakage",
        title="300 of 900 validation rows stand in training too.",
        cost=Estimate(value=0.05, low=0.02, high=0.08, n=900, groups=45),
        evidence=["Validation gives 96.0 %, without these rows 91.0 %."],
    )
    return _replay(leakage, [told])
