"""What do a few real labels buy, and does simulation pre-training help?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from stages.figures import estimate
from stages.reports.parity import PARITY, ParityAnswer, ParityReport
from stages.reports.preprocess import TENSORS_REAL
from stages.reports.probe import CURVE, KINDS, PROBE, Kind, ProbeAnswer, ProbePoint, ProbeReport
from stages.reports.split import ROLES
from stages.reports.train import MODEL
from stages.stage import FromCase, Model, Needs, NotApplicable, Params, Stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.intervals import Interval
    from stages.finetune import Finetune

NEEDS = Needs(memory="4GiB", timeout_s=1800, gpu=True)
HEADER = "labels,kind,level,low,high"


class ProbeParams(Params):
    """How many labels, and the recipe of a fit (see `stages.finetune`)."""

    model: Annotated[Model, FromCase("reference.model")]
    postprocess: Annotated[str | None, FromCase("reference.postprocess")] = None
    classes: Annotated[int, FromCase("classes")]
    labels: list[int] = Field(default=[50, 100, 200], min_length=1)
    resamples: int = Field(default=5, ge=2)
    steps: int = Field(default=80, ge=1)
    batch: int = Field(default=25, ge=2)
    learning_rates: list[float] = Field(default=[0.005, 0.01], min_length=1)  # one a kind is chosen
    seed: int = 0
    device: Literal["cpu", "auto"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The reference's model and tensors, and whether the sides' preprocessing agrees."""

    model: Annotated[Path, MODEL]
    real: Annotated[Path, TENSORS_REAL.of("reference")]
    roles: Annotated[Path, ROLES]
    parity: Annotated[ParityAnswer, PARITY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The few-shot curve."""

    report: Annotated[ProbeAnswer, PROBE]
    curve: Annotated[str, CURVE]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Real rows of one role; `targets` are the model's output columns."""

    tensors: "NDArray[np.float32]"
    targets: "NDArray[np.int64]"
    groups: "NDArray[Any]"


def run(params: ProbeParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001
    """Fit on role fit, judge on role diagnose, several times over."""
    reason = _parity_is_broken(inputs.parity) or _too_few(params, inputs.roles)
    if reason:
        return Outputs(report=NotApplicable(not_applicable=reason), curve=HEADER + "\n")
    from torch.nn import Module

    from sides.model import build
    from stages.finetune import Finetune, Recipe
    from stages.torch_device import prepare

    device = prepare(params.device, NEEDS.threads)
    model = build(str(params.model), "reference.model", inputs.model)
    if not isinstance(model, Module):
        reason = f"The model is a {type(model).__name__}, no torch module: it cannot be fitted."
        return Outputs(report=NotApplicable(not_applicable=reason), curve=HEADER + "\n")
    finetune = Finetune(model, Recipe(steps=params.steps, batch=params.batch), device)
    columns = _columns_of_labels(params)
    if columns is None:
        reason = "reference.postprocess does more than rename the largest output."
        return Outputs(report=NotApplicable(not_applicable=reason), curve=HEADER + "\n")
    fit, held_out = (_rows(inputs, role, columns) for role in ("fit", "diagnose"))
    return _judged(params, finetune, fit, held_out)


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
    from stages.dataset import labels_of, of, read_roles

    table = read_roles(roles)
    labels = labels_of(table, "real")
    fit, held_out = (labels[of(table, "real", role)] for role in ("fit", "diagnose"))
    fewest = min(params.labels)
    missing = sorted(set(range(params.classes)) - set(fit.tolist()))
    if len(fit) < fewest:
        return f"{len(fit)} real rows have role fit and a label; the smallest fit takes {fewest}."
    if missing:
        return f"No real row of role fit has label {', '.join(map(str, missing))}."
    return None if len(held_out) else "No labelled real row has role diagnose, to judge a fit by."


def _columns_of_labels(params: ProbeParams) -> "NDArray[np.int64] | None":
    """Return (classes,) the output column of each label; None when there is no such thing."""
    import numpy as np

    from sides.case_code import calling, load

    if params.postprocess is None:
        return np.arange(params.classes)
    with calling("reference.postprocess"):
        one_hot = 10 * np.eye(params.classes, dtype=np.float32)
        made = np.asarray(load(params.postprocess, "reference.postprocess")(one_hot))
    if sorted(made.tolist()) != list(range(params.classes)):
        return None
    return np.argsort(made)


def _rows(inputs: Inputs, role: str, columns: "NDArray[np.int64]") -> _Rows:
    import numpy as np

    from stages.dataset import groups_of, labels_of, of, open_tensor, read_roles

    table = read_roles(inputs.roles)
    chosen = of(table, "real", role)
    return _Rows(
        tensors=np.asarray(open_tensor(inputs.real)[chosen], dtype=np.float32),
        targets=columns[labels_of(table, "real")[chosen]],
        groups=groups_of(table, "real")[chosen],
    )


def _judged(params: ProbeParams, finetune: "Finetune", fit: _Rows, held_out: _Rows) -> Outputs:
    import numpy as np

    from assay.criteria import accuracy
    from assay.crossed import crossed_mean

    def right() -> "NDArray[np.bool_]":
        outputs = finetune.outputs(held_out.tensors)
        return np.asarray(outputs.argmax(axis=1) == held_out.targets)

    baseline = accuracy(right(), held_out.groups, num_draws=2000, seed=params.seed)
    sizes = [size for size in sorted(params.labels) if size <= len(fit.targets)]
    draws = [_draw(fit.targets, (params.seed, number)) for number in range(params.resamples)]
    smallest = [drawn[: sizes[0]] for drawn in draws]
    rates: dict[str, float] = {
        kind: _chosen_rate(params, finetune, fit, smallest, kind) for kind in KINDS
    }
    tables: dict[tuple[int, Kind], NDArray[np.float64]] = {}
    for size in sizes:
        for kind in KINDS:
            answers = []
            for number, drawn in enumerate(draws):
                rows = drawn[:size]  # smaller sets lie in larger ones: the curve is paired
                finetune.fit(
                    kind,
                    fit.tensors[rows],
                    fit.targets[rows],
                    learning_rate=rates[kind],
                    seed=params.seed + number,
                )
                answers.append(right())
            tables[size, kind] = np.stack(answers).astype(np.float64)
    found = {key: crossed_mean(table, held_out.groups) for key, table in tables.items()}
    points = [
        ProbePoint(
            kind=kind,
            labels=size,
            level=estimate(mean.within(0, 1)),
            resamples=params.resamples,
        )
        for (size, kind), mean in found.items()
    ]
    paired = tables[sizes[0], "whole_model"] - tables[sizes[0], "scratch"]
    effect = crossed_mean(paired, held_out.groups).within(-1, 1)
    report = ProbeReport(
        baseline=estimate(baseline),
        points=points,
        pretraining=_says(effect),
        pretraining_effect=estimate(effect),
        learning_rates=rates,
    )
    return Outputs(report=report, curve="\n".join([HEADER, *map(_line, points)]) + "\n")


def _chosen_rate(
    params: ProbeParams,
    finetune: "Finetune",
    fit: _Rows,
    draws: "list[NDArray[np.int64]]",
    kind: Kind,
) -> float:
    """Choose by the last third of each draw, fitted on the rest: no label outside the draw is used.

    The held-out rows are not looked at, and the smallest draws choose for all.
    """
    if len(params.learning_rates) == 1:
        return params.learning_rates[0]
    num_right = dict.fromkeys(params.learning_rates, 0)
    for rate in params.learning_rates:
        for number, drawn in enumerate(draws):
            fitted, kept = drawn[: -(len(drawn) // 3)], drawn[-(len(drawn) // 3) :]
            finetune.fit(
                kind,
                fit.tensors[fitted],
                fit.targets[fitted],
                learning_rate=rate,
                seed=params.seed + number,
            )
            answers = finetune.outputs(fit.tensors[kept]).argmax(axis=1)
            num_right[rate] += int((answers == fit.targets[kept]).sum())
    return max(num_right, key=lambda rate: num_right[rate])


def _draw(targets: "NDArray[np.int64]", seed: tuple[int, int]) -> "NDArray[np.int64]":
    """Order the rows so that each beginning of the order holds all classes as equally as it can."""
    import numpy as np

    shuffled = np.random.default_rng(seed).permutation(len(targets))
    turn = np.empty(len(targets), dtype=np.int64)
    for target in np.unique(targets):
        own = shuffled[targets[shuffled] == target]
        turn[own] = np.arange(len(own))
    return shuffled[np.argsort(turn[shuffled], kind="stable")]


def _says(effect: "Interval") -> Literal["helps", "hurts", "undecided"]:
    if effect.low > 0:
        return "helps"
    return "hurts" if effect.high < 0 else "undecided"


def _line(point: ProbePoint) -> str:
    figures = (point.level.value, point.level.low, point.level.high)
    return f"{point.labels},{point.kind},{','.join(f'{figure:.6f}' for figure in figures)}"


STAGE = Stage(run, image="torch", needs=NEEDS)
