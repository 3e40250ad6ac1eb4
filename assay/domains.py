"""Both domains' input tensors side by side: in which channels do they differ, and how surely?"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.tensor_axes import Kind, Values

LEVELS = np.concatenate([[0.005], np.linspace(0.02, 0.98, 49), [0.995]])  # quantiles compared
MOST_VALUES = 200_000  # of one channel, for its quantiles
SURE = 3.0  # standard errors, over whole groups
MOVED = 0.15  # standard deviations of simulation
WIDENED = 0.15  # in the logarithm of the deviation
FLAT = 1e-9
FLIPPED, HALF = 0.15, 0.6  # of the correlations' distance, summed over the other channels


@dataclass(frozen=True)
class Domains:
    """Rows of simulation, and real ones that are not judged."""

    kind: Kind
    names: list[str]
    sim: Values  # (rows, channels, ...)
    real: Values
    sim_groups: NDArray[Any]
    real_groups: NDArray[Any]
    seed: int = 0
    sim_labels: NDArray[Any] | None = None  # (rows,) classes; None: targets are numbers
    real_labels: NDArray[Any] | None = None  # -1 where there is none

    @property
    def num_channels(self) -> int:
        """How many channels, or columns."""
        return int(self.sim.shape[1])

    @cached_property
    def means(self) -> tuple[Values, Values]:
        """Give each channel's mean, in simulation and in the field."""
        return _flat(self.sim).mean(axis=(0, 2)), _flat(self.real).mean(axis=(0, 2))

    @cached_property
    def deviations(self) -> tuple[Values, Values]:
        """Give each channel's deviation over rows and positions."""
        return _flat(self.sim).std(axis=(0, 2)), _flat(self.real).std(axis=(0, 2))

    @cached_property
    def quantiles(self) -> tuple[Values, Values]:
        """Give (channels, levels)."""
        return _quantiles(self.sim), _quantiles(self.real)

    @cached_property
    def shift(self) -> Values:
        """Give by how many of simulation's deviations the mean of each channel moved."""
        (ours, theirs), (spread, _) = self.means, self.deviations
        shift: Values = (theirs - ours) / np.maximum(spread, FLAT * (1 + np.abs(ours)))
        return shift

    @cached_property
    def widening(self) -> Values:
        """Give the logarithm of the ratio of deviations, real over simulated."""
        ours, theirs = self.deviations
        floor = FLAT * (1 + np.abs(self.means[0]))
        widening: Values = np.log(np.maximum(theirs, floor) / np.maximum(ours, floor))
        return widening

    @cached_property
    def moved(self) -> list[int]:
        """List the channels whose mean surely moved, the widest first."""
        z = self.surely(*(_flat(side).mean(axis=2) for side in (self.sim, self.real)))
        sure = (np.abs(self.shift) >= MOVED) & (np.abs(z) >= SURE)
        return [int(at) for at in np.argsort(-np.abs(self.shift)) if sure[at]]

    @cached_property
    def widened(self) -> list[int]:
        """List the channels whose deviation surely changed, the most first."""
        squares = [
            ((_flat(side) - mean[:, None]) ** 2).mean(axis=2)
            for side, mean in zip((self.sim, self.real), self.means, strict=True)
        ]
        z = self.surely(*squares)
        sure = (np.abs(self.widening) >= WIDENED) & (np.abs(z) >= SURE)
        return [int(at) for at in np.argsort(-np.abs(self.widening)) if sure[at]]

    @cached_property
    def correlations(self) -> tuple[Values, Values]:
        """Give both sides' correlations of the channels over rows and positions."""
        return _correlation(self.sim), _correlation(self.real)

    @cached_property
    def flipped(self) -> list[int]:
        """List the channels that go with the others as in simulation once their sign is turned."""
        ours, theirs = self.correlations
        off = ~np.eye(self.num_channels, dtype=bool)
        as_is = (np.abs(theirs - ours) * off).sum(axis=1)
        turned = (np.abs(theirs + ours) * off).sum(axis=1)
        nearer = (as_is - turned > FLIPPED) & (turned < HALF * as_is)
        return [int(at) for at in np.flatnonzero(nearer)]

    def surely(self, sim: ArrayLike, real: ArrayLike) -> Values:
        """Say by how many standard errors the means of figures differ, over whole groups.

        Args:
            sim: (rows, figures).
            real: the same of real rows.
        """
        ours, theirs = np.asarray(sim, np.float64), np.asarray(real, np.float64)
        variance = _squared_error(ours, self.sim_groups) + _squared_error(theirs, self.real_groups)
        apart = theirs.mean(axis=0) - ours.mean(axis=0)
        floor = FLAT * (np.abs(ours).mean(axis=0) + np.abs(theirs).mean(axis=0)) + 1e-300
        z: Values = apart / np.maximum(np.sqrt(variance), floor)
        return z

    def by_class(self, least: int) -> list[tuple[Values, Values]]:
        """Give both sides' rows class by class where there are enough; else all rows as one.

        What differs between classes, as the phase between two channels, may cancel over all rows.
        """
        if self.sim_labels is None or self.real_labels is None:
            return [(self.sim, self.real)]
        pairs = [
            (self.sim[self.sim_labels == one], self.real[self.real_labels == one])
            for one in np.unique(self.sim_labels)
        ]
        enough = [pair for pair in pairs if min(map(len, pair)) >= least]
        return enough or [(self.sim, self.real)]

    def name(self, channels: tuple[int, ...]) -> str:
        """Name channels for people.

        >>> Domains("signals", ["channel 0", "channel 1", "channel 2"], np.zeros((1, 3, 1)),
        ...         np.zeros((1, 3, 1)), np.zeros(1), np.zeros(1)).name((0, 1, 2))
        'channels 0-2'
        """
        names = [self.names[at] for at in channels]
        word, _, _ = names[0].rpartition(" ")
        plain = word in ("channel", "column") and names[0] == f"{word} {channels[0]}"
        if not plain or len(channels) == 1:
            shown = ", ".join(names[:4])
            return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")  # noqa: PLR2004
        first, last = channels[0], channels[-1]
        if list(channels) == list(range(first, last + 1)):
            return f"{word}s {first}-{last}"
        listed = ", ".join(str(at) for at in channels[:6])
        return f"{word}s {listed}" + (f" and {len(channels) - 6} more" if len(channels) > 6 else "")  # noqa: PLR2004


def _flat(values: Values) -> Values:
    return values.reshape(len(values), values.shape[1], -1)


def _quantiles(values: Values) -> Values:
    flat = np.moveaxis(_flat(values), 1, 0).reshape(values.shape[1], -1)
    step = max(1, flat.shape[1] // MOST_VALUES)
    made: Values = np.quantile(flat[:, ::step], LEVELS, axis=1).T
    return made


def _squared_error(values: Values, groups: NDArray[Any]) -> Values:
    """Give the squared standard error of each mean, rows of one group counted together."""
    _, inverse = np.unique(groups, return_inverse=True)
    num_groups = int(inverse.max()) + 1
    if num_groups == 1:
        inverse, num_groups = np.arange(len(values)), len(values)
    residuals = values - values.mean(axis=0)
    sums = np.zeros((num_groups, values.shape[1]))
    np.add.at(sums, inverse, residuals)
    few = num_groups / max(1, num_groups - 1)
    made: Values = few * (sums**2).sum(axis=0) / len(values) ** 2
    return made


def _correlation(values: Values) -> Values:
    """Correlate the channels over rows and positions; 0 where one is flat."""
    flat = np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)
    flat = flat[:, :: max(1, flat.shape[1] // 50_000)]
    centred = flat - flat.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1))
    alive = size > 1e-9 * (1 + np.abs(flat).max(axis=1)) * np.sqrt(flat.shape[1])
    scaled = np.where(alive[:, None], centred / np.where(alive, size, 1.0)[:, None], 0.0)
    made: Values = scaled @ scaled.T
    return made
