"""Are labels of real rows wrong, or is the model?

The confident joint (Northcutt, Jiang and Chuang 2021) counts rows of label i that are surely of
class j: as sure as rows of label j are on average. It trusts the model, and so calls every sure
mistake of a model that meets something new a wrong label. Neighbours are therefore asked too: real
rows of other groups that look alike to the model's last layers. Where labels are noise, a row's
neighbours have the class that the model sees; where the model is wrong, they have the label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

NEIGHBOURS = 10
LEAST_VOTES = 0.5  # of the neighbours, for one class


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """Rows (rows,): whom the neighbours believe where the model contradicts the label."""

    joint: NDArray[np.int64]  # (classes, classes): label by what it surely is
    confirmed: NDArray[np.bool_]  # neighbours say what the model says
    refuted: NDArray[np.bool_]  # neighbours say what the label says
    looks_like: Labels  # the class that a row surely is; -1: none


def confident_joint(shares: Floats, labels: Labels) -> tuple[NDArray[np.int64], Labels]:
    """Count rows by label and by what they surely are.

    Args:
        shares: (rows, classes) probabilities.
        labels: (rows,) in 0..classes - 1.

    Returns:
        (classes, classes) counts, and the class of each row, -1 where it is surely of none.

    >>> shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05]])
    >>> confident_joint(shares, np.array([0, 0, 1, 1]))[0].tolist()
    [[1, 0], [1, 1]]
    """
    classes = shares.shape[1]
    thresholds = np.array(
        [shares[labels == k, k].mean() if (labels == k).any() else np.inf for k in range(classes)]
    )
    sure = shares >= thresholds
    looks_like: Labels = np.where(
        sure.any(axis=1), np.where(sure, shares, -1.0).argmax(axis=1), -1
    ).astype(np.int64)
    joint = np.zeros((classes, classes), dtype=np.int64)
    known = looks_like >= 0
    np.add.at(joint, (labels[known], looks_like[known]), 1)
    return joint, looks_like


def votes(
    features: Floats, labels: Labels, groups: NDArray[Any], num_classes: int, k: int = NEIGHBOURS
) -> Floats:
    """Give the shares of labels among each row's neighbours in other groups: (rows, classes)."""
    nearest, usable = _nearest(features, groups, k)
    member = np.eye(num_classes)[labels]
    counts = (member[nearest] * usable[..., None]).sum(axis=1)
    made: Floats = counts / np.maximum(usable.sum(axis=1), 1)[:, None]
    return made


def doubts(shares: Floats, labels: Labels, neighbours: Floats) -> Doubts:
    """Tell which labels the model and the neighbours both contradict.

    Args:
        shares: (rows, classes) probabilities of the model.
        labels: (rows,).
        neighbours: (rows, classes) as `votes` gives them.
    """
    joint, sure = confident_joint(shares, labels)
    rows = np.arange(len(labels))
    doubted = (sure >= 0) & (sure != labels)
    theirs = neighbours[rows, np.maximum(sure, 0)]
    own = neighbours[rows, labels]
    return Doubts(
        joint=joint,
        confirmed=doubted & (theirs >= LEAST_VOTES) & (theirs > own),
        refuted=doubted & (own >= LEAST_VOTES) & (own > theirs),
        looks_like=sure,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDoubts:
    """Targets of a regression against answers, in simulation's spread of the misses."""

    offset: float  # of the targets, once outliers do not count
    offset_share: float  # of the offset, in simulation's spread
    spread_ratio: float  # of the core of the misses, real over simulated
    outlying: NDArray[np.bool_]  # (rows,) targets far outside, whose neighbours stand by the answer


def doubt_targets(
    sim_misses: Floats, real_misses: Floats, neighbours: Floats | None, targets: Floats
) -> TargetDoubts:
    """Tell outlying targets, and an offset of all of them, from a model that is worse.

    Args:
        sim_misses: target less answer, of simulation.
        real_misses: (rows,) the same of real rows.
        neighbours: (rows,) the median target of each row's neighbours; None: not known.
        targets: (rows,).
    """
    ours, theirs = _spread(sim_misses), _spread(real_misses)
    offset = float(np.median(real_misses) - np.median(sim_misses))
    far = np.abs(real_misses - np.median(real_misses)) > 5 * max(ours, theirs)
    if neighbours is not None:
        answers = targets - real_misses
        far &= np.abs(neighbours - answers) < np.abs(neighbours - targets)
    return TargetDoubts(
        offset=offset,
        offset_share=offset / ours if ours > 0 else 0.0,
        spread_ratio=theirs / ours if ours > 0 else 1.0,
        outlying=far,
    )


def median_of_neighbours(
    features: Floats, targets: Floats, groups: NDArray[Any], k: int = NEIGHBOURS
) -> Floats:
    """Give the median target of each row's neighbours in other groups; NaN where there is none."""
    nearest, usable = _nearest(features, groups, k)
    # Where all rows are of one group but for a few, some of those have fewer neighbours than k.
    theirs = np.ma.masked_array(targets[nearest], ~usable)
    made: Floats = np.ma.median(theirs, axis=1).filled(np.nan)  # type: ignore[no-untyped-call]
    return made


def _nearest(
    features: Floats, groups: NDArray[Any], k: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Give each row's (rows, k) neighbours in other groups, and which of them are some at all.

    Columns are scaled by their own deviation, of all rows together. One group only: other rows.
    """
    values = np.asarray(features, dtype=np.float64).reshape(len(features), -1)
    spread = values.std(axis=0)
    values = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
    squares = (values**2).sum(axis=1)
    distances = squares[:, None] + squares[None] - 2 * values @ values.T
    same = groups[:, None] == groups[None]
    distances[np.eye(len(values), dtype=bool) if same.all() else same] = np.inf
    k = max(1, min(k, len(values) - 1))
    nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return nearest, np.isfinite(np.take_along_axis(distances, nearest, axis=1))


def _spread(values: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))
