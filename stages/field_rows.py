"""The rows that `alter` works on: which are judged, which give statistics, and what is lost."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.criteria import drop
from assay.domains import Domains
from assay.intervals import Interval
from assay.scores import level, spread
from assay.tensor_axes import Axes, axes_of, names_of
from stages.answers import Rows, Side, rows_of
from stages.metric import Metric
from stages.stage import NotApplicable

if TYPE_CHECKING:
    from stages.alter import AlterParams, Inputs

LEAST_ROWS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRows:
    """What there is to alter."""

    axes: Axes
    domains: Domains
    sim: Path
    real: Path
    rows_sim: NDArray[np.int64]  # judged, positions in their tensors
    rows_real: NDArray[np.int64]
    row_size: int  # values
    fitted_on: str
    level_sim: Interval
    level_real: Interval
    gap: Interval


def field_rows(params: "AlterParams", inputs: "Inputs") -> FieldRows | NotApplicable:
    """Choose the rows, or say why there is nothing to explain."""
    metric = Metric(params.metric)
    side = Side(inputs.outputs)
    sim = rows_of(inputs.roles, "sim", None, task=metric.task)
    real = rows_of(inputs.roles, "real", "diagnose", task=metric.task)
    why = _why_not(inputs, sim, real)
    if why:
        return NotApplicable(not_applicable=why)
    sim = _some(_finite(sim, inputs.sim), params.max_rows, params.seed)
    real = _some(_finite(real, inputs.real), params.max_rows, params.seed + 1)
    scored = side.scores("sim", sim, metric), side.scores("real-reference", real, metric)
    levels = [
        level(params.metric, found, rows.groups, num_draws=params.resamples, seed=params.seed)
        for found, rows in zip(scored, (sim, real), strict=True)
    ]
    gap = drop(*levels)
    margin = params.margin * spread(params.metric, sim.labels)
    if gap.low <= 0 or gap.value <= margin:
        return NotApplicable(not_applicable=_no_loss(metric, gap, margin))
    return _chosen(params, inputs, sim, real, levels=levels, gap=gap)


def _why_not(inputs: "Inputs", sim: Rows, real: Rows) -> str | None:
    if inputs.reference.model == "recorded":
        return "The reference is recorded, so that its model cannot be asked again."
    for rows, name in ((sim, "simulation"), (real, "the field that have the role diagnose")):
        if len(rows) < LEAST_ROWS:
            number = len(rows) or "no"
            return f"There are {number} labelled rows of {name}: too few to tell what costs it."
    shapes = [np.load(path, mmap_mode="r").shape for path in (inputs.sim, inputs.real)]
    if shapes[0][1:] != shapes[1][1:] or axes_of(shapes[0]) is None:
        return "The tensors are neither pictures nor signals nor rows of a table of one shape."
    return None


def _no_loss(metric: Metric, gap: Interval, margin: float) -> str:
    if gap.low > 0:
        return f"The reference loses no more than the margin on real rows ({metric.loss(margin)})."
    says = metric.change(gap)
    return f"The reference is not surely worse on real rows than on validation ({says})."


def _finite(rows: Rows, path: Path) -> Rows:
    tensors = np.load(path, mmap_mode="r")
    kept = [bool(np.isfinite(tensors[at]).all()) for at in rows.positions]
    return rows.only(np.array(kept, dtype=bool))


def _some(rows: Rows, most: int, seed: int) -> Rows:
    """Keep a seeded choice, in a random order: the first of them are a choice too."""
    chosen = np.random.default_rng(seed).permutation(len(rows))[:most]
    return Rows(
        positions=rows.positions[chosen], labels=rows.labels[chosen], groups=rows.groups[chosen]
    )


def _chosen(
    params: "AlterParams",
    inputs: "Inputs",
    sim: Rows,
    real: Rows,
    *,
    levels: list[Interval],
    gap: Interval,
) -> FieldRows:
    fitted, fitted_on = _fitted(params, inputs, real)
    mapped = {name: np.load(path, mmap_mode="r") for name, path in _paths(inputs).items()}
    axes = axes_of(mapped["sim"].shape)
    assert axes is not None  # noqa: S101  made sure of
    # Labels of the judged rows say nothing of how they are altered: no row judges itself.
    asked = fitted is not real and sim.labels.dtype.kind in "iu"
    theirs = axes.canonical(mapped["real"][fitted.positions])
    domains = Domains(
        axes.kind,
        names_of(axes, theirs.shape[1], params.columns),
        axes.canonical(mapped["sim"][sim.positions]),
        theirs,
        sim.groups,
        fitted.groups,
        params.seed,
        *((sim.labels, fitted.labels) if asked else ()),
    )
    return FieldRows(
        axes=axes,
        domains=domains,
        sim=inputs.sim,
        real=inputs.real,
        rows_sim=sim.positions,
        rows_real=real.positions,
        row_size=int(np.prod(theirs.shape[1:])),
        fitted_on=fitted_on,
        level_sim=levels[0],
        level_real=levels[1],
        gap=gap,
    )


def _paths(inputs: "Inputs") -> dict[str, Path]:
    return {"sim": inputs.sim, "real": inputs.real}


def _fitted(params: "AlterParams", inputs: "Inputs", judged: Rows) -> tuple[Rows, str]:
    """Choose the real rows that give statistics: not those that are judged, where others are."""
    task = Metric(params.metric).task
    others = rows_of(inputs.roles, "real", ("fit", "unlabelled"), labelled=False, task=task)
    others = _some(_finite(others, inputs.real), params.max_fitted, params.seed + 2)
    if len(others) >= LEAST_ROWS:
        return others, "rows of role fit and rows without a label"
    return judged, "the judged rows themselves, as there are no others"
