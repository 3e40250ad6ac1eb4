"""Where in the network do sim and real part?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
from stages.reports.preprocess import TENSORS_REAL, TENSORS_SIM
from stages.reports.split import ROLES
from stages.reports.train import MODEL
from stages.stage import FromCase, Model, Needs, NotApplicable, Params, Stage

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

NEEDS = Needs(memory="4GiB", timeout_s=1800, gpu=True)
EFFECT_MEANS = (
    "chance that a held-out simulated row is told from a real one: 0.5 not at all, 1 always"
)
REAL_ROLES = ("diagnose", "fit", "unlabelled")  # what proves a repair is not looked at here


class FeaturesParams(Params):
    """Which layers are read, and how they are compared."""

    model: Annotated[Model, FromCase("reference.model")]
    layers: Annotated[list[str], FromCase("reference.layers")] = []  # noqa: RUF012  pydantic copies it
    max_rows: int = Field(default=500, ge=2)  # a side, a seeded subsample
    num_permutations: int = Field(default=999, ge=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)  # family-wise, over the layers
    seed: int = 0
    batch: int = Field(default=256, ge=1)
    device: Literal["cpu", "auto"] = "auto"
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The reference's model and the tensors that its own preprocessing made."""

    model: Annotated[Path, MODEL]
    sim: Annotated[Path, TENSORS_SIM.of("reference")]
    real: Annotated[Path, TENSORS_REAL.of("reference")]
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
    labels: "NDArray[np.int64]"
    groups: "NDArray[Any]"
    num_not_finite: int


def run(params: FeaturesParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001
    """Compare the layers' answers by MMD, dealing whole groups; Holm over the layers."""
    if not params.layers:
        return _no_answer("The case lists no reference.layers, so no layer was read.")
    from torch.nn import Module

    from sides.model import build
    from stages.activations import check_layers, collect
    from stages.dataset import read_roles
    from stages.torch_device import prepare

    device = prepare(params.device, NEEDS.threads)
    model = build(str(params.model), "reference.model", inputs.model)
    if not isinstance(model, Module):
        return _no_answer(f"The model is a {type(model).__name__}, no torch module with layers.")
    check_layers(model, params.layers)
    read = partial(collect, model, params.layers, batch=params.batch, device=device)
    roles = read_roles(inputs.roles)
    sides = {
        "sim": _read(read, params, inputs.sim, roles, "sim"),
        "real": _read(read, params, inputs.real, roles, "real"),
    }
    for name, side in sides.items():
        if len(set(side.groups)) < 2:  # noqa: PLR2004
            text = f"{name} has fewer than 2 groups with finite features"
            return _no_answer(f"{text}: a difference between groups looks like one of the domain.")
    return _compared(params, sides["sim"], sides["real"])


def _read(
    read: "Callable[..., dict[str, NDArray[np.float32]]]",
    params: FeaturesParams,
    tensors: Path,
    roles: "pd.DataFrame",
    name: str,
) -> _Rows:
    import numpy as np

    from stages.dataset import groups_of, labels_of, of, open_tensor

    chosen = of(roles, name, None if name == "sim" else REAL_ROLES)
    if len(chosen) > params.max_rows:
        generator = np.random.default_rng(params.seed)
        chosen = np.sort(generator.choice(chosen, params.max_rows, replace=False))
    features = read(open_tensor(tensors), chosen)
    finite = np.all([np.isfinite(layer).all(axis=1) for layer in features.values()], axis=0)
    return _Rows(
        features={layer: values[finite] for layer, values in features.items()},
        labels=labels_of(roles, name)[chosen][finite],
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
            max_rows=params.max_rows,
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
    last = params.layers[-1]
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
    labels = ["" if label < 0 else str(label) for label in rows.labels]
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    flat = places.round(6) + 0.0
    return [f"{domain},{label},{x:.6f},{y:.6f}" for label, (x, y) in zip(labels, flat, strict=True)]


def _no_answer(reason: str) -> Outputs:
    return Outputs(
        report=NotApplicable(not_applicable=reason),
        layers=_csv("layer,effect,p_holm", []),
        projection=_csv("domain,label,x,y", []),
    )


def _csv(header: str, lines: list[str]) -> str:
    return "\n".join([header, *lines]) + "\n"


STAGE = Stage(run, image="torch", needs=NEEDS)
