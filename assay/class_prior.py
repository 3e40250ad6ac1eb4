"""Are classes only more or less frequent in the field, and how much of the loss is that?

Black box shift estimation (Lipton, Wang and Smola 2018): if within each class the field looks as
simulation does, the shares of the answers in the field are the confusions of simulation times the
field's shares, which can be solved for without a label. The assumption is tested where there are
labels: within each class, are answers distributed as in simulation (chi-square of homogeneity,
deflated for groups after Rao and Scott 1981 and held to an F, as groups are few: Thomas and Rao
1987; Holm over the classes)? What the shift explains is what the metric would be with the field's
shares and simulation's success in each class.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.intervals import Interval, few_units
from assay.multiplicity import holm

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

LEAST = 5  # rows of a class on a side to compare its answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Shares (classes,); NaN where a class has no row to tell from."""

    classes: Labels
    sim: Floats
    real: Floats
    estimated: Floats | None  # None: the confusions cannot be inverted
    right_sim: Floats
    right_real: Floats
    explains: Interval
    p_shift: float
    p_assumption: float


def estimate_shares(
    labels: Labels, answers: Labels, answered: Labels, classes: Labels
) -> Floats | None:
    """Estimate the classes' shares among unlabelled rows by the confusions of labelled ones.

    Args:
        labels: (rows,) of simulation.
        answers: (rows,) to them.
        answered: answers to the unlabelled rows.
        classes: every class.

    >>> truth = np.array([0] * 50 + [1] * 50)
    >>> said = np.array([0] * 40 + [1] * 10 + [1] * 50)
    >>> found = estimate_shares(truth, said, np.array([0] * 16 + [1] * 84), np.array([0, 1]))
    >>> found.round(3).tolist()
    [0.2, 0.8]
    """
    table = np.array([[np.sum((labels == k) & (answers == j)) for k in classes] for j in classes])
    sizes = table.sum(axis=0)
    if (sizes == 0).any():
        return None
    confusion = table / sizes
    if np.linalg.cond(confusion) > 1e3:  # noqa: PLR2004  shares would be noise
        return None
    shown = np.array([np.mean(answered == j) for j in classes])
    shares = np.clip(np.linalg.solve(confusion, shown), 0, None)
    return np.asarray(shares / shares.sum(), dtype=np.float64) if shares.sum() > 0 else None


def class_prior(
    sim_labels: Labels,
    sim_answers: Labels,
    real_labels: Labels,
    real_answers: Labels,
    real_groups: NDArray[Any],
    *,
    answered: Labels,
    num_draws: int = 1000,
    seed: int = 0,
) -> Prior:
    """Compare the classes' shares and, within each class, the answers.

    Args:
        sim_labels: (rows,) of simulation.
        sim_answers: the model's.
        real_labels: (rows,) of real rows.
        real_answers: the model's.
        real_groups: (rows,).
        answered: answers to real rows without regard to labels, for the estimate without any.
        num_draws: of the bootstrap.
        seed: of it.
    """
    classes = np.unique(np.concatenate([sim_labels, real_labels]))
    ours, theirs = (_counts(labels, classes) for labels in (sim_labels, real_labels))
    right = [
        _right(labels, answers, classes)
        for labels, answers in ((sim_labels, sim_answers), (real_labels, real_answers))
    ]
    return Prior(
        classes=classes,
        sim=ours / ours.sum(),
        real=theirs / theirs.sum(),
        estimated=estimate_shares(sim_labels, sim_answers, answered, classes),
        right_sim=right[0],
        right_real=right[1],
        explains=_explained(
            sim_labels,
            sim_answers,
            real_labels,
            real_groups,
            classes,
            num_draws=num_draws,
            seed=seed,
        ),
        p_shift=_p_shift(sim_labels, real_labels, real_groups, classes),
        p_assumption=_p_assumption(
            (sim_labels, sim_answers), (real_labels, real_answers), real_groups, classes
        ),
    )


def _counts(labels: Labels, classes: Labels) -> Floats:
    return np.array([np.sum(labels == k) for k in classes], dtype=np.float64)


def _right(labels: Labels, answers: Labels, classes: Labels) -> Floats:
    return np.array(
        [np.mean(answers[labels == k] == k) if (labels == k).any() else np.nan for k in classes]
    )


def _explained(
    sim_labels: Labels,
    sim_answers: Labels,
    real_labels: Labels,
    real_groups: NDArray[Any],
    classes: Labels,
    *,
    num_draws: int,
    seed: int,
) -> Interval:
    """Bound sum_k (sim share - real share) x (right in simulation): rows and groups drawn."""
    generator = np.random.default_rng(seed)
    member = (sim_labels[:, None] == classes).astype(np.float64)
    right = member * (sim_answers == sim_labels)[:, None]
    units, inverse = np.unique(real_groups, return_inverse=True)
    if len(units) == 1:
        inverse = np.arange(len(real_labels))
    num_units = int(inverse.max()) + 1
    table = np.zeros((num_units, len(classes)))
    np.add.at(table, inverse, (real_labels[:, None] == classes).astype(np.float64))

    def value(sizes: Floats, hits: Floats, theirs: Floats) -> Floats:
        known = sizes > 0
        rate = np.where(
            known, hits / np.maximum(sizes, 1), hits.sum(-1, keepdims=True) / len(sim_labels)
        )
        ours = sizes / sizes.sum(axis=-1, keepdims=True)
        shares = theirs / np.maximum(theirs.sum(axis=-1, keepdims=True), 1)
        made: Floats = ((ours - shares) * rate).sum(axis=-1)
        return made

    found = float(value(member.sum(axis=0), right.sum(axis=0), table.sum(axis=0)))
    rows = generator.multinomial(len(member), np.full(len(member), 1 / len(member)), num_draws)
    drawn = generator.multinomial(num_units, np.full(num_units, 1 / num_units), num_draws)
    draws = value(rows @ member, rows @ right, drawn @ table)
    low, high = found + few_units(num_units) * (np.quantile(draws, [0.025, 0.975]) - found)
    grouped = num_units < len(real_labels)
    return Interval(
        value=found,
        low=float(low),
        high=float(high),
        n=len(real_labels),
        resampled="groups" if grouped else "rows",
        num_units=num_units,
    ).within(-1, 1)


def _design(flags: Floats, groups: NDArray[Any]) -> tuple[float, int]:
    """Say by how much groups widen the variance of shares, and how many of them say so.

    1 where rows are independent.
    """
    _, inverse = np.unique(groups, return_inverse=True)
    num = int(inverse.max()) + 1
    if num in (1, len(groups)):
        return 1.0, len(groups)
    residuals = flags - flags.mean(axis=0)
    sums = np.zeros((num, flags.shape[1]))
    np.add.at(sums, inverse, residuals)
    rows = float((residuals**2).sum())
    found = num / (num - 1) * float((sums**2).sum()) / rows if rows > 0 else 1.0
    return max(1.0, found), num


def _homogeneous(first: Floats, second: Floats, design: tuple[float, int]) -> float:
    """Return the p of two rows of counts having one distribution; see `_design`.

    4 groups of 40 rows and 2 classes: of 600 draws alike the chi-square called 9 % other at 5 %,
    the F 2 %.
    """
    from scipy.stats import f

    table = np.stack([first, second])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or (table.sum(axis=1) == 0).any():  # noqa: PLR2004
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    widened, num_units = design
    free = table.shape[1] - 1
    statistic = float(((table - expected) ** 2 / expected).sum()) / widened / free
    return float(f.sf(statistic, free, free * (num_units - 1)))


def _p_shift(
    sim_labels: Labels, real_labels: Labels, groups: NDArray[Any], classes: Labels
) -> float:
    flags = (real_labels[:, None] == classes).astype(np.float64)
    return _homogeneous(
        _counts(sim_labels, classes), _counts(real_labels, classes), _design(flags, groups)
    )


def _p_assumption(
    sim: tuple[Labels, Labels],
    real: tuple[Labels, Labels],
    groups: NDArray[Any],
    classes: Labels,
) -> float:
    """Compare, in each class, how often the answer is right; the least p, adjusted by Holm."""
    found = []
    for k in classes:
        ours, theirs = sim[1][sim[0] == k] == k, real[1][real[0] == k] == k
        if min(len(ours), len(theirs)) < LEAST:
            continue
        design = _design(theirs[:, None].astype(np.float64), groups[real[0] == k])
        first, second = (np.array([one.sum(), (~one).sum()], np.float64) for one in (ours, theirs))
        found.append(_homogeneous(first, second, design))
    return float(holm(found).min()) if found else 1.0
