"""What each part of the gap costs: the metric when one part at a time is exchanged."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from numpy.typing import NDArray

from assay.criteria import drop
from assay.intervals import Interval, Paired, bootstrap_difference, mcnemar, never_certain
from assay.scores import LOSSES, MetricName, Scores, level
from assay.swap import shapley_intervals

PREPROCESSING: Final = "preprocessing"
MODEL: Final = "model"
POSTPROCESSING: Final = "postprocessing"
DEPLOYMENT: Final = "deployment"  # all of these, where they cannot be told apart
NOTHING, EVERYTHING = frozenset[str](), frozenset({PREPROCESSING, MODEL})
# Cells of the swap, by what comes from the candidate; a model brings its own postprocessing.
CELLS = (NOTHING, frozenset({PREPROCESSING}), frozenset({MODEL}), EVERYTHING)
# Further cells: the model without its postprocessing, or only that. (preprocessing, model,
# postprocessing) from the candidate.
Cell = tuple[bool, bool, bool]
CROSSED: tuple[Cell, ...] = (
    (False, True, False),
    (False, False, True),
    (True, True, False),
    (True, False, True),
)

CLASSES = ("accuracy", "agreement")

Attribution = Literal[
    "three factors", "shapley", "in order", "as a whole", "preprocessing alone", "nothing"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The score of each row, situation by situation; more is better.

    A situation in which the model could not answer is scored as wrong in every row; one of which
    nobody knows the answers, as of a recorded side, is not there.
    """

    metric: MetricName = "accuracy"
    spread: float = 1.0  # what a loss of 1 means in the metric, see `assay.scores.spread`
    sim: Scores | None  # (sim rows,) the reference on validation; None: not in this metric
    on_sim: tuple[Scores, Scores] | None  # both sides on the same validation rows
    real: Mapping[frozenset[str], Scores]  # (real rows,) a cell of CELLS, all over the same rows
    swaps: Mapping[str, Scores]  # (real rows,) the reference with one step of the candidate, by key
    # (real rows,) a cell of CROSSED, all over the same rows; all of them, or they are not used
    crossed: Mapping[Cell, Scores] = field(default_factory=dict)
    last_good: Scores | None = None  # (real rows,) what worked before
    alike: Mapping[str, Scores] = field(default_factory=dict)  # (rows,) see `Shares.changed`
    alike_groups: NDArray[Any] | None = None
    sim_groups: NDArray[Any] | None
    real_groups: NDArray[Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The gap in the metric; `data` and the `parts` add up to it.

    Without a level on validation both are None, and only the parts are known. Positive is a loss.
    `steps` are losses of one step at a time with the rest from the reference; where steps act on
    each other they do not add up to the preprocessing's.
    """

    metric: MetricName
    spread: float
    sim: Interval | None
    cells: Mapping[frozenset[str], Interval]  # the level of each situation that is known, on real
    crossed: Mapping[Cell, Interval] = field(default_factory=dict)  # likewise
    last: frozenset[str]  # the cell that is nearest to the deployment
    gap: Interval | None  # from validation to that cell
    data: Interval | None
    parts: Mapping[str, Interval]  # by component, or the deployment as a whole
    attribution: Attribution
    paired: Paired | None  # as deployed against the reference; labels that are classes only
    on_sim: Interval | None  # what the whole candidate loses on validation
    steps: Mapping[str, Interval]
    last_good: Interval | None  # the level of what worked before
    since: Interval | None  # what the candidate loses against it, on the same rows
    model_alone: Interval | None = None  # what the model loses with all else from the reference
    # Share of answers that a step (by key) or MODEL changes alone; these rows need no labels.
    changed: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def of_labels(self) -> bool:
        """Whether a row is right or wrong: it loses at most what changes."""
        return self.metric in CLASSES

    def bounded(self, loss: Interval) -> Interval:
        """Return a loss that is never without doubt."""
        return never_certain(loss) if self.of_labels else loss

    @property
    def reference(self) -> Interval:
        """All from the reference, on real rows."""
        return self.cells[NOTHING]

    @property
    def candidate(self) -> Interval | None:
        """As deployed, on real rows; None where nobody recorded what it answers."""
        return self.cells.get(EVERYTHING)

    @property
    def furthest(self) -> Interval:
        """As near to the deployment as is known."""
        return self.cells[self.last]

    @property
    def preprocessing(self) -> Interval | None:
        """The preprocessing's part; None where it cannot be told."""
        return self.parts.get(PREPROCESSING)

    @property
    def model(self) -> Interval | None:
        """The model's part; None where it cannot be told."""
        return self.parts.get(MODEL)

    @property
    def postprocessing(self) -> Interval | None:
        """The postprocessing's part; None where it belongs to the model's."""
        return self.parts.get(POSTPROCESSING)


def attribute(answers: Answers, *, num_draws: int = 2000, seed: int = 0) -> Shares:
    """Say what each part of the gap costs; paired where the rows are the same, by whole groups."""
    bounds = LOSSES[answers.metric]
    real, groups = answers.real, answers.real_groups

    def stands(found: Scores, by: NDArray[Any] | None) -> Interval:
        return level(answers.metric, found, by, num_draws=num_draws, seed=seed)

    def lost(before: Scores, after: Scores, by: NDArray[Any] | None) -> Interval:
        return bootstrap_difference(after, before, by, num_draws, seed).within(*bounds)

    sim = None if answers.sim is None else stands(answers.sim, answers.sim_groups)
    cells = {cell: stands(found, groups) for cell, found in real.items()}
    how, parts = _parts(real, answers.crossed, groups, num_draws, seed)
    last = next(cell for cell in reversed(CELLS) if cell in real and cell != {MODEL})
    ends = EVERYTHING in real
    return Shares(
        metric=answers.metric,
        spread=answers.spread,
        sim=sim,
        cells=cells,
        crossed={cell: stands(found, groups) for cell, found in answers.crossed.items()},
        last=last,
        gap=None if sim is None else drop(sim, cells[last]),
        data=None if sim is None else drop(sim, cells[NOTHING]),
        parts={name: loss.within(*bounds) for name, loss in parts.items()},
        attribution=how,
        paired=mcnemar(real[NOTHING] > 0, real[EVERYTHING] > 0)
        if ends and answers.metric in CLASSES
        else None,
        on_sim=None if answers.on_sim is None else lost(*answers.on_sim, answers.sim_groups),
        steps={
            key: never_certain(loss) if answers.metric in CLASSES else loss
            for key, found in answers.swaps.items()
            if (loss := lost(real[NOTHING], found, groups))
        },
        model_alone=lost(real[NOTHING], real[frozenset({MODEL})], groups)
        if frozenset({MODEL}) in real
        else None,
        changed={
            key: _rest(
                level("agreement", same, answers.alike_groups, num_draws=num_draws, seed=seed)
            )
            for key, same in answers.alike.items()
        },
        last_good=None if answers.last_good is None else stands(answers.last_good, groups),
        since=None
        if answers.last_good is None or not ends
        else lost(answers.last_good, real[EVERYTHING], groups),
    )


def _rest(share: Interval) -> Interval:
    return replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)


def _parts(
    real: Mapping[frozenset[str], Scores],
    crossed: Mapping[Cell, Scores],
    groups: NDArray[Any] | None,
    num_draws: int,
    seed: int,
) -> tuple[Attribution, Mapping[str, Interval]]:
    """Share out what lies between the reference and the candidate by the cells that are known.

    All eight, or all four: exact Shapley shares. Without the candidate's model on the reference's
    tensors the preprocessing is exchanged first, whose share then depends on that order. With
    nothing between the two ends they cannot be told apart.
    """
    # A loss: the sign of the score is turned.
    losses = {cell: 1 - found for cell, found in real.items()}
    only, model = frozenset({PREPROCESSING}), frozenset({MODEL})

    def lost(before: frozenset[str], after: frozenset[str]) -> Interval:
        return bootstrap_difference(losses[before], losses[after], groups, num_draws, seed)

    if set(CELLS) <= set(real):
        apart = set(CROSSED) <= set(crossed)
        if apart:
            losses = {_three(cell): found for cell, found in losses.items()}
            losses |= {_named(cell): 1 - found for cell, found in crossed.items()}
        shared = shapley_intervals(losses, groups, num_draws, seed)
        return "three factors" if apart else "shapley", shared
    if EVERYTHING in real and only in real:
        parts = {PREPROCESSING: lost(NOTHING, only), MODEL: lost(only, EVERYTHING)}
        return "in order", parts
    if EVERYTHING in real and model in real:
        parts = {PREPROCESSING: lost(model, EVERYTHING), MODEL: lost(NOTHING, model)}
        return "in order", parts
    if EVERYTHING in real:
        return "as a whole", {DEPLOYMENT: lost(NOTHING, EVERYTHING)}
    if only in real:
        return "preprocessing alone", {PREPROCESSING: lost(NOTHING, only)}
    return "nothing", {}


def _three(cell: frozenset[str]) -> frozenset[str]:
    """Name a cell in which the model brings its own postprocessing by all three factors."""
    return cell | {POSTPROCESSING} if MODEL in cell else cell


def _named(cell: Cell) -> frozenset[str]:
    factors = (PREPROCESSING, MODEL, POSTPROCESSING)
    return frozenset(factor for factor, theirs in zip(factors, cell, strict=True) if theirs)
