"""Where in the network do sim and real part?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from stages.feature_rows import FeatureRows, read_rows
from stages.reports.features import (
    FEATURES,
    LAYERS,
    PROJECTION,
    FeaturesAnswer,
    FeaturesReport,
    LayerGap,
)
from stages.reports.predict import LAYERS_READ
from stages.reports.split import ROLES
from stages.stage import FromCase, Needs, NotApplicable, Params, Stage

EFFECT_MEANS = (
    "chance that a held-out simulated row is told from a real one: 0.5 not at all, 1 always"
)


class FeaturesParams(Params):
    """How the layers that `predict` read are compared."""

    num_permutations: int = Field(default=999, ge=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)  # family-wise, over the layers
    exact_rows: int = Field(default=2000, ge=2)  # a side; more are streamed
    seed: int = 0
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the reference's layers answered to its own tensors, and the rows' groups."""

    layers: Annotated[Path, LAYERS_READ.of("reference")]
    roles: Annotated[Path, ROLES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The gap layer by layer, and a flat picture of the last one."""

    report: Annotated[FeaturesAnswer, FEATURES]
    layers: Annotated[str, LAYERS]
    projection: Annotated[str, PROJECTION]


def run(params: FeaturesParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Compare the layers' answers by MMD, dealing whole groups; Holm over the layers."""
    import json

    read = json.loads((inputs.layers / "layers.json").read_text(encoding="utf-8"))
    if read["why_not"]:
        return _no_answer(read["why_not"])
    sides = {name: read_rows(inputs.layers, inputs.roles, read, name) for name in ("sim", "real")}
    for name, side in sides.items():
        if side.num_groups < 2:  # noqa: PLR2004
            text = f"{name} has fewer than 2 groups with finite features"
            return _no_answer(f"{text}: a difference between groups looks like one of the domain.")
    return _compared(params, sides["sim"], sides["real"])


def _compared(params: FeaturesParams, sim: FeatureRows, real: FeatureRows) -> Outputs:
    from assay.pca import project
    from stages.layer_gaps import compare, sample

    sides = [sample(side, params.exact_rows, params.seed) for side in (sim, real)]
    gaps = compare(*sides, num_permutations=params.num_permutations, seed=params.seed)
    least = max(gap.smallest_p_value or 0.0 for gap in gaps)
    last = gaps[-1].layer
    flat = project(sides[0].take(last), sides[1].take(last))
    report = FeaturesReport(
        layers=gaps,
        begins_at=next((gap.layer for gap in gaps if gap.p_holm <= params.alpha), None),
        can_tell=least <= params.alpha / len(gaps),
        alpha=params.alpha,
        effect_means=EFFECT_MEANS,
        num_sim=len(sim),
        num_real=len(real),
        projected_layer=last,
        projected_explained=[round(float(share), 6) for share in flat.explained],
        num_not_finite=sim.num_not_finite + real.num_not_finite,
        how=_how(gaps, *(len(side.at) for side in sides)),
    )
    lines = [f"{gap.layer},{gap.effect:.6f},{gap.p_holm:.6f}" for gap in gaps]
    points: list[str] = []
    if params.pictures == "full":  # a point a sample is made of that sample
        points = _points("sim", sides[0].labels, flat.sim_xy)
        points += _points("real", sides[1].labels, flat.real_xy)
    return Outputs(
        report=report,
        layers=_csv("layer,effect,p_holm", lines),
        projection=_csv("domain,label,x,y", points),
    )


def _how(gaps: list[LayerGap], num_sim: int, num_real: int) -> str:
    if gaps[0].compared == "pairs":
        return ""
    error = max(gap.effect_error or 0.0 for gap in gaps)
    return (
        "Too many rows for all pairs: p and MMD\u00b2 are of every row through random frequencies, "
        f"effects and points of a random {num_sim} simulated and {num_real} real rows "
        f"(standard error of an effect at most {error:.2g})."
    )


def _points(domain: str, labels: Any, places: Any) -> list[str]:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    found = zip(labels, places.round(6) + 0.0, strict=True)
    return [f"{domain},{label},{x:.6f},{y:.6f}" for label, (x, y) in found]


def _no_answer(reason: str) -> Outputs:
    return Outputs(
        report=NotApplicable(not_applicable=reason),
        layers=_csv("layer,effect,p_holm", []),
        projection=_csv("domain,label,x,y", []),
    )


def _csv(header: str, lines: list[str]) -> str:
    return "\n".join([header, *lines]) + "\n"


STAGE = Stage(run, image="base", needs=Needs(memory="2GiB", timeout_s=1800))
