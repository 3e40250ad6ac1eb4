"""In which figures do raw samples of simulation and of the field differ, and how surely?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from stages.reports.data import REAL_SET, SIM_SET
from stages.reports.inputs import (
    INPUTS,
    STATISTICS,
    SUMMARY,
    Histogram,
    InputsAnswer,
    InputsReport,
    Statistic,
)
from stages.reports.split import ROLES
from stages.stage import FromCase, Needs, NotApplicable, Params, Stage, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.contrast import Contrast
    from stages.raw_figures import Described

HEADER = "name,distance,effect,p_adjusted,mean_sim,mean_real"
SHOWN_HISTOGRAMS = 12
BINS = 16


class InputsParams(Params):
    """What the samples are, and how they are compared."""

    kind: Literal["auto", "pictures", "signals", "table"] = "auto"  # auto: by their shape
    columns: Annotated[list[str], FromCase("data.columns")] = []  # noqa: RUF012  pydantic copies it
    max_rows: int = Field(default=500, ge=2)  # a side, a seeded subsample
    num_permutations: int = Field(default=9999, ge=1)  # of a figure that differs; others fewer
    resamples: int = Field(default=1000, ge=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)  # expected share of false ones among those named
    seed: int = 0
    task: Annotated[Task, FromCase("task")] = "classification"
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Raw samples and their groups."""

    roles: Annotated[Path, ROLES]
    sim: Annotated[Path, SIM_SET]
    real: Annotated[Path, REAL_SET]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The figures; for tables a summary by Evidently."""

    report: Annotated[InputsAnswer, INPUTS]
    statistics: Annotated[str, STATISTICS]
    summary: Annotated[str, SUMMARY]


def run(params: InputsParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Describe each sample in figures, and compare each figure over whole groups."""
    from stages.raw_figures import describe, kind_of
    from stages.seen_rows import seen_rows

    folders = {"sim": inputs.sim, "real": inputs.real}
    rows = {name: seen_rows(inputs.roles, name, params.task) for name in folders}
    if not all(map(len, rows.values())):
        return _no_answer("There are no rows to look at on one side.")
    kind = params.kind if params.kind != "auto" else kind_of(inputs.sim, inputs.roles)
    if kind is None:
        return _no_answer("The samples are neither pictures nor signals nor rows of a table.")
    described = {
        name: describe(
            folder,
            inputs.roles,
            name,
            rows[name],
            kind=kind,
            columns=params.columns,
            max_rows=params.max_rows,
            seed=params.seed,
        )
        for name, folder in folders.items()
    }
    if min(len(one.groups) for one in described.values()) < 2:  # noqa: PLR2004
        return _no_answer("Fewer than two samples of a side can be read.")
    return _compared(params, kind, described["sim"], described["real"])


def _compared(params: InputsParams, kind: Any, sim: "Described", real: "Described") -> Outputs:
    import numpy as np

    from assay.contrast import contrast
    from assay.multiplicity import benjamini_yekutieli

    found = [
        contrast(
            name,
            sim.columns[name],
            real.columns[name],
            sim.groups,
            real.groups,
            num_permutations=params.num_permutations,
            num_draws=params.resamples,
            seed=params.seed,
        )
        for name in sim.columns
        if name in real.columns and _varies(sim.columns[name], real.columns[name])
    ]
    # A figure as large as floats go (a column's word for "nothing here") has no deviation.
    kept = [
        one for one in found if one and np.isfinite([one.std_sim or 0, one.std_real or 0]).all()
    ]
    adjusted = benjamini_yekutieli([one.p_value for one in kept])
    order = _kinds_in_turn(
        [one.name for one in kept],
        sorted(
            range(len(kept)),
            key=lambda at: (adjusted[at] > params.alpha, -kept[at].distance, kept[at].name),
        ),
        adjusted <= params.alpha,
    )
    private = params.pictures == "none"  # extremes and bins' edges are values of single samples
    num_shown = 0 if private else SHOWN_HISTOGRAMS
    statistics = [
        _statistic(kept[at], float(adjusted[at]), params.alpha, sim, real, shown=rank < num_shown)
        for rank, at in enumerate(order)
    ]
    count = len(kept)
    harmonic = float((1 / np.arange(1, count + 1)).sum()) if count else 1.0
    summary = _summary(sim, real) if kind == "table" and not private else "{}\n"
    report = InputsReport(
        kind=kind,
        statistics=statistics,
        num_sim=len(sim.groups),
        num_real=len(real.groups),
        groups_sim=len(set(sim.groups)),
        groups_real=len(set(real.groups)),
        alpha=params.alpha,
        # All figures at the least p: only then the adjusted one is smallest, harmonic times that.
        can_tell=bool(kept)
        and min(one.smallest_p_value for one in kept) * harmonic <= params.alpha,
        num_unreadable=sim.num_unreadable + real.num_unreadable,
        summary=summary != "{}\n",
    )
    return Outputs(report=report, statistics=_csv(statistics), summary=summary)


def _varies(sim: Any, real: Any) -> bool:
    """Tell whether a figure has two values at all: else it would only be one test more."""
    import numpy as np

    both = np.concatenate([sim, real])
    return len(np.unique(both[np.isfinite(both)] if both.dtype.kind == "f" else both)) > 1


def _kinds_in_turn(names: list[str], order: list[int], differs: "NDArray[np.bool_]") -> list[int]:
    """Put the first of each kind before the second of any: six channels may say one thing.

    What differs surely stays before what does not.
    """
    import re

    seen: dict[str, int] = {}
    turns = {}
    for at in order:
        kind = re.sub(r"^channel \d+ | \d+-\d+$", "", names[at])
        turns[at] = seen[kind] = seen.get(kind, 0) + 1
    return sorted(order, key=lambda at: (not differs[at], turns[at]))


def _statistic(
    found: "Contrast",
    p_adjusted: float,
    alpha: float,
    sim: "Described",
    real: "Described",
    *,
    shown: bool,
) -> Statistic:
    from stages.figures import estimate

    return Statistic(
        name=found.name,
        mean_sim=found.mean_sim,
        mean_real=found.mean_real,
        std_sim=found.std_sim,
        std_real=found.std_real,
        effect=None if found.effect is None else estimate(found.effect),
        distance=found.distance,
        p_value=found.p_value,
        p_adjusted=p_adjusted,
        differs=p_adjusted <= alpha,
        histogram=_histogram(sim.columns[found.name], real.columns[found.name]) if shown else None,
    )


def _histogram(sim: Any, real: Any) -> Histogram:
    import numpy as np

    if sim.dtype.kind not in "biuf":
        words = sorted({*sim, *real})[:BINS]
        shares = [[float((side == word).mean()) for word in words] for side in (sim, real)]
        return Histogram(edges=[], words=list(map(str, words)), sim=shares[0], real=shares[1])
    both = np.concatenate([side[np.isfinite(side)] for side in (sim, real)]).astype(float)
    # The outermost hundredth of either end would press all others into one bin.
    low, high = np.quantile(both, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    shares = []
    for side in (sim, real):
        inside = np.clip(side[np.isfinite(side)].astype(float), edges[0], edges[-1])
        counts, _ = np.histogram(inside, edges)
        shares.append([float(count) / max(1, counts.sum()) for count in counts])
    return Histogram(edges=[float(edge) for edge in edges], words=[], sim=shares[0], real=shares[1])


def _summary(sim: "Described", real: "Described") -> str:
    import json

    from stages.table_summary import summarise

    try:
        found = summarise(sim.columns, real.columns)
    except Exception as error:  # noqa: BLE001  it stands beside the examination, which goes on
        print(f"no summary of the columns: {type(error).__name__}: {error}")
        found = {}
    return json.dumps(found, indent=2, allow_nan=False) + "\n"


def _csv(statistics: list[Statistic]) -> str:
    lines = [
        f"{one.name},{one.distance:.6f},{'' if one.effect is None else f'{one.effect.value:.6f}'},"
        f"{one.p_adjusted:.6f},{_number(one.mean_sim)},{_number(one.mean_real)}"
        for one in statistics
    ]
    return "\n".join([HEADER, *lines]) + "\n"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _no_answer(reason: str) -> Outputs:
    return Outputs(
        report=NotApplicable(not_applicable=reason), statistics=HEADER + "\n", summary="{}\n"
    )


STAGE = Stage(run, image="contracts", needs=Needs(memory="2GiB", timeout_s=1800))
