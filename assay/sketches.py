"""Moments and quantiles of rows that stream by: bounded memory, and parts can be merged."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(slots=True)
class Moments:
    """The count, mean and covariance of the rows seen so far, exact but for rounding.

    Parts are joined by the pairwise update of Chan, Golub and LeVeque 1983, which does not lose
    digits where the mean is far from 0. Memory: width^2 float64; time: rows x width^2.
    """

    width: int
    count: int = 0
    mean: NDArray[np.float64] = field(init=False)
    scatter: NDArray[np.float64] = field(init=False)  # sum of (row - mean)(row - mean)^T

    def __post_init__(self) -> None:
        """Begin with no row."""
        self.mean = np.zeros(self.width)
        self.scatter = np.zeros((self.width, self.width))

    def update(self, rows: ArrayLike) -> None:
        """Add (rows, width)."""
        block = np.asarray(rows, dtype=np.float64)
        if not len(block):
            return
        mean = block.mean(axis=0)
        centred = block - mean
        self._join(len(block), mean, centred.T @ centred)

    def merge(self, other: "Moments") -> None:
        """Add what another part has seen."""
        if other.count:
            self._join(other.count, other.mean, other.scatter)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The unbiased covariance (width, width); two rows or more."""
        if self.count < 2:  # noqa: PLR2004
            raise ValueError(f"a covariance needs two rows, not {self.count}")
        return self.scatter / (self.count - 1)

    def _join(self, count: int, mean: NDArray[np.float64], scatter: NDArray[np.float64]) -> None:
        total = self.count + count
        step = mean - self.mean
        self.scatter += scatter + np.outer(step, step) * (self.count * count / total)
        self.mean += step * (count / total)
        self.count = total


class Quantiles:
    """Quantiles of many columns at once, within a stated error of rank.

    Compactors as in KLL (Karnin, Lang and Liberty 2016), all of one capacity k: a full level is
    sorted, every second value goes up with twice the weight, and a coin decides which. One
    compaction of weight w moves a rank by w at most, without bias; level h, of weight 2^h, is
    compacted at most n / (2^h k) times, so that by Hoeffding's inequality the rank of a value is
    off by more than e n with a chance of at most 2 exp(-(e k)^2 / 4). The columns of a row are
    compacted together, each with its own order: the bound holds for each of them.

    Memory: width x k x (2 + log2(n / k)) values; time n x width x log k.
    """

    def __init__(self, width: int, capacity: int = 512, seed: int = 0) -> None:
        if capacity < 2 or capacity % 2:  # noqa: PLR2004
            raise ValueError(f"a capacity is an even number, 2 or more: {capacity}")
        self.width, self.capacity, self.count = width, capacity, 0
        self.levels: list[NDArray[np.float64]] = [np.empty((0, width))]
        self._generator = np.random.default_rng(seed)

    def error(self, chance: float = 0.01) -> float:
        """Return the share of the rows by which a rank is off with at most this chance."""
        exact = len(self.levels) == 1
        return 0.0 if exact else float(2 * np.sqrt(np.log(2 / chance)) / self.capacity)

    def update(self, rows: ArrayLike) -> None:
        """Add (rows, width), finite."""
        block = np.asarray(rows, dtype=np.float64)
        if block.shape[1:] != (self.width,) or not np.isfinite(block).all():
            raise ValueError(f"quantiles need finite (rows, {self.width}): shape {block.shape}")
        self.count += len(block)
        self._add(0, block)

    def merge(self, other: "Quantiles") -> None:
        """Add what another part of the same width and capacity has seen."""
        if (self.width, self.capacity) != (other.width, other.capacity):
            mine, theirs = (self.width, self.capacity), (other.width, other.capacity)
            raise ValueError(f"only sketches of one width and capacity merge: {mine}, {theirs}")
        self.count += other.count
        for level, values in enumerate(other.levels):
            self._add(level, values)

    def at(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Return (shares, width): the least value whose rank reaches each share of the rows."""
        if not self.count:
            raise ValueError("no row was seen")
        values, weights = self._weighted()
        order = np.argsort(values, axis=0)
        ranks = np.cumsum(weights[order], axis=0) / weights.sum()
        wanted = np.atleast_1d(np.asarray(shares, dtype=np.float64))
        found = np.empty((len(wanted), self.width))
        for column in range(self.width):
            # A rank that rounding left just under the share reaches it.
            first = np.searchsorted(ranks[:, column], wanted - 1e-12)
            found[:, column] = values[order[np.minimum(first, len(order) - 1), column], column]
        return found

    def ranks(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return (points, width): the share of rows at or below (points, width)."""
        values, weights = self._weighted()
        wanted = np.asarray(points, dtype=np.float64)
        below = values[:, None, :] <= wanted[None]
        return np.asarray(np.einsum("v,vpw->pw", weights, below) / weights.sum())

    def _weighted(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        weights = [np.full(len(level), 2.0**at) for at, level in enumerate(self.levels)]
        return np.concatenate(self.levels), np.concatenate(weights)

    def _add(self, level: int, values: NDArray[np.float64]) -> None:
        while len(self.levels) <= level:
            self.levels.append(np.empty((0, self.width)))
        held = np.concatenate([self.levels[level], values])
        num = len(held) // self.capacity * self.capacity
        self.levels[level] = held[num:].copy()  # not a view, which would keep the whole
        if num:
            full = held[:num].reshape(-1, self.capacity, self.width)
            full.sort(axis=1)
            coins = self._generator.integers(0, 2, len(full))
            kept = [one[coin::2] for one, coin in zip(full, coins, strict=True)]
            self._add(level + 1, np.concatenate(kept))
