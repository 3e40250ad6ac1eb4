"""What do a few real labels buy, and does simulation pre-training help?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from stages.figures import estimate
from stages.metric import Metric
from stages.reports.parity import PARITY, ParityAnswer, ParityReport
from stages.reports.preprocess import TENSORS_REAL, TENSORS_SIM
from stages.reports.probe import CURVE, CURVES, PROBE, Kind, ProbeAnswer, ProbePoint, ProbeReport
from stages.reports.split import ROLES
from stages.reports.train import MODEL
from stages.stage import (
    RUNTIMES,
    FromCase,
    MetricName,
    Model,
    Needs,
    NotApplicable,
    Params,
    Stage,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.intervals import Interval
    from stages.probe_fits import Probed, Rows
    from stages.probe_targets import Classes, Numbers

NEEDS = Needs(memory="4GiB", timeout_s=1800, gpu=True)
HEADER = "labels,kind,level,low,high"


class ProbeParams(Params):
    """How many labels, and the recipe of a fit (see `stages.finetune`)."""

    model: Annotated[Model, FromCase("reference.model")]
    postprocess: Annotated[str | None, FromCase("reference.postprocess")] = None
    image: Annotated[str, FromCase("reference.image")] = "torch"
    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    unit: Annotated[str | None, FromCase("unit")] = None
    classes: Annotated[int | None, FromCase("classes")] = None  # None: labels are numbers
    labels: list[int] = Field(default=[50, 100, 200], min_length=1)  # of the curve
    resamples: int = Field(default=5, ge=2)
    ladder: list[int] = Field(default=[10, 25, 50, 100, 200])  # none: no ladder
    ladder_deep: list[int] = Field(default=[10, 200])  # where each step runs the whole model
    ladder_resamples: int = Field(default=3, ge=2)
    steps: int = Field(default=80, ge=1)
    batch: int = Field(default=25, ge=2)
    learning_rates: list[float] = Field(default=[0.005, 0.01], min_length=1)  # one a kind is chosen
    seed: int = 0
    device: Literal["cpu", "auto"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The reference's model and tensors, and whether the sides' preprocessing agrees."""

    model: Annotated[Path, MODEL]
    sim: Annotated[Path, TENSORS_SIM.of("reference")]
    real: Annotated[Path, TENSORS_REAL.of("reference")]
    roles: Annotated[Path, ROLES]
    parity: Annotated[ParityAnswer, PARITY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The few-shot curve."""

    report: Annotated[ProbeAnswer, PROBE]
    curve: Annotated[str, CURVE]


def run(params: ProbeParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001
    """Fit on role fit, judge on role diagnose, several times over."""
    reason = (
        _is_no_module(params) or _parity_is_broken(inputs.parity) or _too_few(params, inputs.roles)
    )
    if reason:
        return _not_applicable(reason)
    from torch.nn import Module

    from sides.model import build
    from stages.finetune import Finetune, Recipe
    from stages.finetune_numbers import FinetuneNumbers
    from stages.probe_fits import Probed
    from stages.torch_device import prepare

    device = prepare(params.device, NEEDS.threads)
    model = build(str(params.model), "reference.model", inputs.model)
    if not isinstance(model, Module):
        what = type(model).__name__
        return _not_applicable(f"The model is a {what}, no torch module: it cannot be fitted.")
    targets = _targets(params)
    if targets is None:
        more = "more than rename the largest" if params.classes else "more than scale its only"
        return _not_applicable(f"reference.postprocess does {more} output.")
    kind = Finetune if params.classes else FinetuneNumbers
    finetune = kind(model, Recipe(steps=params.steps, batch=params.batch), device)
    fit, held_out = (_rows(inputs, role, params, targets) for role in ("fit", "diagnose"))
    sim = _rows(inputs, None, params, targets)
    width = finetune.outputs(held_out.tensors[:1]).shape[1]
    if not params.classes and width != 1:
        return _not_applicable(f"The model has {width} outputs a row; one number is fitted.")
    return _judged(params, Probed(finetune=finetune, targets=targets), fit, sim, held_out)


def _not_applicable(reason: str) -> Outputs:
    return Outputs(report=NotApplicable(not_applicable=reason), curve=HEADER + "\n")


def _is_no_module(params: ProbeParams) -> str | None:
    """Say so: only a torch module that the case's own code builds can be fitted here."""
    if params.image != "torch":
        return f"The reference runs in the image {params.image}; a model is fitted in torch alone."
    if not isinstance(params.model, str):
        return "The reference's model is a program: it cannot be fitted."
    if params.model in RUNTIMES:
        return (
            f"The reference's model is a file ({params.model}): it can be run, not fitted. A "
            f"function that builds the torch module would let it be."
        )
    return None


def _parity_is_broken(parity: ParityAnswer) -> str | None:
    """Say so: before parity is clean, a fit makes a fault in the code look like missing labels."""
    if isinstance(parity, ParityReport) and not parity.passed:
        step = parity.first_differing_step or "the model's input"
        return (
            f"The sides' preprocessing differs from `{step}` on: a fit to a few labels would learn "
            f"around that fault and hide it. Mend it first."
        )
    return None


def _too_few(params: ProbeParams, roles: Path) -> str | None:
    from stages.answers import rows_of

    task = Metric(params.metric).task
    fit, held_out = (rows_of(roles, "real", role, task=task) for role in ("fit", "diagnose"))
    if len(fit) < min(params.labels):
        fewest = f"the smallest fit takes {min(params.labels)}"
        return f"{len(fit)} real rows have role fit and a label; {fewest}."
    found = set(fit.labels.tolist())
    missing = sorted(set(range(params.classes or 0)) - found)
    if missing:
        return f"No real row of role fit has label {', '.join(map(str, missing))}."
    if not params.classes and len(found) == 1:
        return "All real rows of role fit have the same label: nothing can be learnt of them."
    if len(held_out) < (1 if params.classes else 2):  # one number has no variance
        return "No labelled real row has role diagnose, to judge a fit by."
    return None


def _targets(params: ProbeParams) -> "Classes | Numbers | None":
    from stages.probe_targets import classes, numbers

    metric = Metric(params.metric, params.unit)
    if params.classes:
        return classes(metric, params.classes, params.postprocess)
    return numbers(metric, params.postprocess)


def _rows(
    inputs: Inputs, role: str | None, params: ProbeParams, targets: "Classes | Numbers"
) -> "Rows":
    import numpy as np

    from stages.answers import rows_of
    from stages.dataset import open_tensor
    from stages.probe_fits import Rows

    domain, path = ("real", inputs.real) if role else ("sim", inputs.sim)
    rows = rows_of(inputs.roles, domain, role, task=Metric(params.metric).task)
    return Rows(
        tensors=np.asarray(open_tensor(path)[rows.positions], dtype=np.float32),
        targets=targets.targets(rows.labels),
        groups=rows.groups,
    )


def _judged(
    params: ProbeParams, probed: "Probed", fit: "Rows", sim: "Rows", held_out: "Rows"
) -> Outputs:
    import numpy as np

    from assay.crossed import crossed_mean
    from assay.scores import LEVELS, LOSSES, level
    from stages.probe_fits import draw
    from stages.probe_ladder import Ladder

    metric, unchanged = probed.targets.metric, probed.scores(held_out)
    baseline = level(metric.name, unchanged, held_out.groups, num_draws=2000, seed=params.seed)
    sizes = [size for size in sorted(params.labels) if size <= len(fit.targets)]
    strata = probed.targets.strata(fit.targets)
    draws = [draw(strata, (params.seed, number)) for number in range(params.resamples)]
    smallest = [fit.at(drawn[: sizes[0]]) for drawn in draws]
    rates: dict[str, float] = {
        kind: _chosen_rate(params, probed, smallest, kind) for kind in CURVES
    }
    tables: dict[tuple[int, Kind], NDArray[np.float64]] = {}
    for size in sizes:
        sets = [fit.at(drawn[:size]) for drawn in draws]  # smaller ones lie in larger: paired
        for kind in CURVES:
            scores = [
                probed.fitted(kind, rates[kind], params.seed + number, rows, held_out)
                for number, rows in enumerate(sets)
            ]
            tables[size, kind] = np.stack(scores)
    found = {key: crossed_mean(table, held_out.groups) for key, table in tables.items()}
    points = [
        ProbePoint(
            kind=kind,
            labels=size,
            level=estimate(metric.shown(mean.within(*LEVELS[metric.name]))),
            resamples=params.resamples,
        )
        for (size, kind), mean in found.items()
    ]
    paired = tables[sizes[0], "whole_model"] - tables[sizes[0], "scratch"]
    effect = crossed_mean(paired, held_out.groups).within(*LOSSES[metric.name])
    ladder = Ladder(
        probed=probed,
        real=fit,
        sim=sim,
        held_out=held_out,
        unchanged=unchanged,
        sizes=sorted(params.ladder),
        deep_sizes=sorted(params.ladder_deep),
        resamples=params.ladder_resamples,
        seed=params.seed,
        rates=rates,
    )
    rungs, absent = ladder.rungs(tables)
    report = ProbeReport(
        metric=metric.name,
        unit=metric.unit,
        baseline=estimate(metric.shown(baseline)),
        points=points,
        pretraining=_says(effect),
        pretraining_effect=estimate(effect),
        learning_rates=rates,
        ladder=rungs,
        not_probed=absent,
    )
    return Outputs(report=report, curve="\n".join([HEADER, *map(_line, points)]) + "\n")


def _chosen_rate(params: ProbeParams, probed: "Probed", draws: "list[Rows]", kind: Kind) -> float:
    """Choose by the last third of each draw, fitted on the rest: no label outside the draw is used.

    The held-out rows are not looked at, and the smallest draws choose for all.
    """
    import numpy as np

    if len(params.learning_rates) == 1:
        return params.learning_rates[0]
    reached = dict.fromkeys(params.learning_rates, 0.0)
    for rate in params.learning_rates:
        for number, drawn in enumerate(draws):
            rows, cut = np.arange(len(drawn.targets)), -(len(drawn.targets) // 3)
            fitted, kept = drawn.at(rows[:cut]), drawn.at(rows[cut:])
            reached[rate] += float(
                probed.fitted(kind, rate, params.seed + number, fitted, kept).sum()
            )
    return max(reached, key=lambda rate: reached[rate])


def _says(effect: "Interval") -> Literal["helps", "hurts", "undecided"]:
    if effect.low > 0:
        return "helps"
    return "hurts" if effect.high < 0 else "undecided"


def _line(point: ProbePoint) -> str:
    figures = (point.level.value, point.level.low, point.level.high)
    return f"{point.labels},{point.kind},{','.join(f'{figure:.6f}' for figure in figures)}"


STAGE = Stage(run, image="torch", needs=NEEDS)
