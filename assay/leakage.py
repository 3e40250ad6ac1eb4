"""What validation shares with training: rows that are the same, and rows that are nearly so.

A figure on rows that the model was trained on says nothing (Kaufman et al. 2012; Kapoor and
Narayanan 2023). Tables of few distinct values and repeated signals hold equal rows anyway: only
more of them than training holds among its own rows are a finding. Near is likewise what is far
nearer than training's own rows are to each other (as Barz and Denzler 2020 look for duplicates by
nearest neighbours). Distances are taken in blocks; memory is bounded by the block.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float32]

BLOCK = 256  # rows of one block of distances
NEAR = 0.25  # of the distance below which few of training's own rows lie
FEW = 0.05
SURE = 1e-4  # how likely chance may be so uneven
LEAST = 3  # leaked rows
LEAST_TRAIN = 20
WIDTH = 64  # numbers of a fingerprint
SIDE, CHANNELS = 8, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Which rows of validation are in training, and whether that is more than chance."""

    leaked: NDArray[np.bool_]  # (validation rows,)
    expected: float  # share of training's own rows that have a double among the others
    p_value: float
    found: bool
    nearer_than: float | None = None


def exact(
    train: Sequence[str],
    validation: Sequence[str],
    groups: Sequence[str] | None = None,
) -> Shared:
    """Find rows whose content training holds too.

    Args:
        train: a digest a row.
        validation: likewise.
        groups: of training's rows; doubles within one group are repetition, not chance.
    """
    held = set(train)
    leaked = np.array([one in held for one in validation], bool)
    return _judged(leaked, _doubles(train, groups), len(train))


def _doubles(train: Sequence[str], groups: Sequence[str] | None) -> int:
    """Count training rows whose content stands in another group (or another row) too."""
    if groups is None:
        rows = Counter(train)
        return sum(count for count in rows.values() if count > 1)
    seen: dict[str, set[str]] = {}
    for digest, group in zip(train, groups, strict=True):
        seen.setdefault(digest, set()).add(group)
    return sum(len(seen[digest]) > 1 for digest in train)


def near(
    train: ArrayLike, validation: ArrayLike, groups: Sequence[str] | None = None, *, seed: int = 0
) -> Shared:
    """Find rows that lie far nearer to a row of training than training's own rows lie together.

    Args:
        train: (rows, width) fingerprints, see `fingerprints`.
        validation: likewise.
        groups: of training's rows: its own rows are compared with those of other groups.
        seed: of the choice of training rows that are compared with the others.
    """
    ours, theirs = np.asarray(train, np.float32), np.asarray(validation, np.float32)
    if len(ours) < LEAST_TRAIN or not len(theirs):
        none = np.zeros(len(theirs), bool)
        return Shared(leaked=none, expected=0.0, p_value=1.0, found=False)
    generator = np.random.default_rng(seed)
    asked = np.sort(generator.permutation(len(ours))[: max(LEAST_TRAIN, min(len(theirs), 500))])
    labels = np.arange(len(ours)) if groups is None else np.unique(groups, return_inverse=True)[1]
    own = nearest(ours[asked], ours, labels[asked], labels)
    bound = NEAR * float(np.quantile(own, FEW))
    # A constant sample has no fingerprint, and is near to all that have none.
    leaked = (nearest(theirs, ours) < bound) & theirs.any(axis=1)
    found = _judged(leaked, int((own < bound).sum()), len(asked))
    return Shared(
        leaked=found.leaked,
        expected=found.expected,
        p_value=found.p_value,
        found=found.found,
        nearer_than=bound,
    )


def _judged(leaked: NDArray[np.bool_], num_own: int, num_train: int) -> Shared:
    from scipy.stats import binom

    expected = (num_own + 1) / (num_train + 2)
    count = int(leaked.sum())
    p_value = float(binom.sf(count - 1, len(leaked), expected)) if count else 1.0
    return Shared(
        leaked=leaked,
        expected=num_own / max(num_train, 1),
        p_value=p_value,
        found=count >= LEAST and p_value <= SURE,
    )


def nearest(
    asked: Floats,
    among: Floats,
    own: NDArray[np.integer] | None = None,
    groups: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Return each row's distance to its nearest, blockwise; rows of the own group do not count."""
    squares = (among.astype(np.float64) ** 2).sum(axis=1)
    found = np.empty(len(asked))
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        apart = squares - 2.0 * (block @ among.T)
        if own is not None and groups is not None:
            apart[own[start : start + BLOCK, None] == groups[None]] = np.inf
        at = apart.argmin(axis=1)
        # Taken anew: the difference of large squares has lost the digits of small distances.
        exact_apart = block.astype(np.float64) - among[at].astype(np.float64)
        distance = np.sqrt((exact_apart**2).sum(axis=1))
        lonely = ~np.isfinite(apart[np.arange(len(block)), at])
        found[start : start + BLOCK] = np.where(lonely, np.inf, distance)
    return found


def fingerprints(samples: ArrayLike) -> Floats:
    """Return samples (rows, ...) as `WIDTH` numbers each, of mean 0 and length 1: means of parts.

    The product of two is their normalised correlation, which brightness and contrast leave alone.
    Zeros where a sample is constant: it is near to nothing.
    """
    values = np.nan_to_num(np.asarray(samples, np.float64), posinf=0.0, neginf=0.0)
    flat = _coarse(values).reshape(len(values), -1)
    means = _stretches(flat, WIDTH, 1)
    means = means - means.mean(axis=1, keepdims=True)
    length = np.sqrt((means**2).sum(axis=1))
    constant = length <= 1e-9 * (1 + np.abs(flat).max(axis=1, initial=0.0))
    means[~constant] /= length[~constant, None]
    means[constant] = 0.0
    made = np.zeros((len(values), WIDTH), np.float32)
    made[:, : means.shape[1]] = means
    return made


def _coarse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average pictures to about 8 by 8 and signals to stretches of time, channel by channel."""
    if values.ndim > 3 and values.shape[1] <= CHANNELS < values.shape[-1]:  # noqa: PLR2004  channels first
        values = np.moveaxis(values, 1, -1)
    if values.ndim == 3 and values.shape[2] <= 2 * CHANNELS:  # noqa: PLR2004  (rows, time, channels)
        return _stretches(values, max(1, WIDTH // values.shape[2]), 1)
    if values.ndim > 2:  # noqa: PLR2004
        values = _stretches(_stretches(values, SIDE, 1), SIDE, 2)
        return np.asarray(values.reshape(*values.shape[:3], -1).mean(axis=3))
    return values


def _stretches(values: NDArray[np.float64], parts: int, axis: int) -> NDArray[np.float64]:
    """Average equal stretches along an axis; shorter than so many parts it is as it was."""
    size = values.shape[axis]
    if size <= parts:
        return values
    edges = np.linspace(0, size, parts + 1).astype(int)
    counts = np.diff(edges).reshape([-1 if at == axis else 1 for at in range(values.ndim)])
    made: NDArray[np.float64] = np.add.reduceat(values, edges[:-1], axis=axis) / counts
    return made


def standardised(train: ArrayLike, validation: ArrayLike) -> tuple[Floats, Floats]:
    """Put a table's columns on one scale, training's; columns without any spread are left out."""
    ours, theirs = np.asarray(train, np.float64), np.asarray(validation, np.float64)
    ours, theirs = np.nan_to_num(ours), np.nan_to_num(theirs)
    middle, spread = ours.mean(axis=0), ours.std(axis=0)
    kept = spread > 1e-12 * (1 + np.abs(middle))
    made = [(one[:, kept] - middle[kept]) / spread[kept] for one in (ours, theirs)]
    return made[0].astype(np.float32), made[1].astype(np.float32)
