"""Where in the network do sim and real part?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EFFECT_MEANS = (
    "chance that a held-out simulated row is told from a real one: 0.5 not at all, 1 always"
)


class FeaturesParams(Params):
    """How the layers that `predict` read are compared."""

    num_permutations: int = Field(default=999, ge=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)  # family-wise, over the layers
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """One domain's rows under comparison."""

    features: "dict[str, NDArray[np.float32]]"
    labels: list[str]
    groups: "NDArray[Any]"
    num_not_finite: int


def run(params: FeaturesParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Compare the layers' answers by MMD, dealing whole groups; Holm over the layers."""
    import json

    read = json.loads((inputs.layers / "layers.json").read_text(encoding="utf-8"))
    if read["why_not"]:
        return _no_answer(read["why_not"])
    sides = {name: _rows(inputs, read, name) for name in ("sim", "real")}
    for name, side in sides.items():
        if len(set(side.groups)) < 2:  # noqa: PLR2004
            text = f"{name} has fewer than 2 groups with finite features"
            return _no_answer(f"{text}: a difference between groups looks like one of the domain.")
    return _compared(params, sides["sim"], sides["real"])


def _rows(inputs: Inputs, read: dict[str, Any], name: str) -> _Rows:
    import numpy as np

    from stages.dataset import groups_of, open_tensor, read_roles

    roles = read_roles(inputs.roles)
    chosen = np.array(read[name], dtype=np.int64)
    features = {
        layer: np.array(open_tensor(inputs.layers / f"{read['files'][layer]}.{name}.npy"))
        for layer in read["layers"]
    }
    finite = np.all([np.isfinite(layer).all(axis=1) for layer in features.values()], axis=0)
    labels = roles.loc[roles["dataset"] == name, "label"].to_numpy(dtype=str)
    return _Rows(
        features={layer: values[finite] for layer, values in features.items()},
        labels=list(labels[chosen][finite]),
        groups=groups_of(roles, name)[chosen][finite],
        num_not_finite=int((~finite).sum()),
    )


def _compared(params: FeaturesParams, sim: _Rows, real: _Rows) -> Outputs:
    from assay.mmd import mmd_test
    from assay.multiplicity import holm
    from assay.pca import project

    found = {
        layer: mmd_test(
            values,
            real.features[layer],
            sim.groups,
            real.groups,
            num_permutations=params.num_permutations,
            seed=params.seed,
            max_rows=max(len(values), len(real.labels)),
        )
        for layer, values in sim.features.items()
    }
    adjusted = holm([result.p_value for result in found.values()])
    least = max(result.smallest_p_value for result in found.values())
    gaps = [
        LayerGap(
            layer=layer,
            width=sim.features[layer].shape[1],
            mmd2=result.mmd2,
            p_value=result.p_value,
            p_holm=float(p_holm),
            effect=result.effect,
            permuted=result.permuted,
            smallest_p_value=result.smallest_p_value,
        )
        for (layer, result), p_holm in zip(found.items(), adjusted, strict=True)
        if result.effect is not None  # two groups a side were made sure of
    ]
    last = gaps[-1].layer
    flat = project(sim.features[last], real.features[last])
    report = FeaturesReport(
        layers=gaps,
        begins_at=next((gap.layer for gap in gaps if gap.p_holm <= params.alpha), None),
        can_tell=least <= params.alpha / len(found),
        alpha=params.alpha,
        effect_means=EFFECT_MEANS,
        num_sim=len(sim.labels),
        num_real=len(real.labels),
        projected_layer=last,
        projected_explained=[round(float(share), 6) for share in flat.explained],
        num_not_finite=sim.num_not_finite + real.num_not_finite,
    )
    lines = [f"{gap.layer},{gap.effect:.6f},{gap.p_holm:.6f}" for gap in gaps]
    points: list[str] = []
    if params.pictures == "full":  # a point a sample is made of that sample
        points = _points("sim", sim, flat.sim_xy) + _points("real", real, flat.real_xy)
    return Outputs(
        report=report,
        layers=_csv("layer,effect,p_holm", lines),
        projection=_csv("domain,label,x,y", points),
    )


def _points(domain: str, rows: _Rows, places: Any) -> list[str]:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    flat = places.round(6) + 0.0
    found = zip(rows.labels, flat, strict=True)
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
