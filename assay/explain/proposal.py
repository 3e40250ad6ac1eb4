"""What an explainer proposes, and the arrays that it proposes it for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Parameter: TypeAlias = float | int | str | list[float] | list[int]

TABLE_NDIM = 2  # rows and columns
IMAGE_NDIM = 4  # rows and three axes
LONG = 40  # moments, at least, of a series of one sensor
ALIKE = 0.5  # of correlation between neighbours, in the mean
MANY_CHANNELS = 16  # a series of at most this many sensors has its channels on the short axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Arrays at one step: `values` (rows, ...) finite; which axis holds the channels, or None.

    `planes` shows them as (rows, channels, height, width) whatever the layout: a plain picture has
    one channel, a row of features has as many channels and pictures of one pixel.
    """

    values: Array
    channel_axis: int | None
    names: tuple[str, ...] = ()  # of a row's columns, where they are known

    @property
    def kind(self) -> str:
        """What a person calls one of its channels."""
        return "column" if self.values.ndim == TABLE_NDIM else "channel"

    def named(self, channel: int) -> str:
        """Call one of its channels by its name; by its number where it has none."""
        return self._name(channel) or f"{self.kind} {channel}"

    def short(self, channel: int) -> str:
        """Call one of several channels, where their kind was said."""
        return self._name(channel) or f"{channel}"

    def _name(self, channel: int) -> str:
        fits = self.values.ndim == TABLE_NDIM and self.values.shape[1] == len(self.names)
        return self.names[channel] if fits else ""

    @property
    def planes(self) -> Array:
        """Give the view (rows, channels, height, width)."""
        values = self.values
        if self.channel_axis is None:
            values = values[:, None]
        else:
            values = np.moveaxis(values, self.channel_axis, 1)
        while values.ndim < IMAGE_NDIM:
            values = values[..., None]
        return values.reshape(*values.shape[:3], -1)

    def with_values(self, values: Array) -> "Samples":
        """Put other values of the same layout."""
        return replace(self, values=values)

    def with_planes(self, planes: Array) -> "Samples":
        """Put (rows, channels, height, width) back into this layout, of whatever size they are."""
        if self.values.ndim > IMAGE_NDIM:
            return replace(self, values=np.ascontiguousarray(planes).reshape(self.values.shape))
        values = planes[:, 0] if self.channel_axis is None else planes
        while values.ndim > self.values.ndim:
            values = values[..., 0]
        if self.channel_axis is not None:
            values = np.moveaxis(values, 1, self.channel_axis)
        return replace(self, values=values)


def guess_channel_axis(shape: Sequence[int]) -> int | None:
    """Guess where the channels of (rows, ...) are: the axis that is unlike the two of a square.

    >>> guess_channel_axis((9, 3, 8, 8)), guess_channel_axis((9, 8, 8, 3))
    (1, 3)
    >>> guess_channel_axis((9, 28, 28)), guess_channel_axis((9, 128, 6))
    (None, 2)
    """
    sizes = tuple(shape[1:])
    match len(sizes):
        case 1:
            return 1
        case 2:
            if sizes[1] <= MANY_CHANNELS and 4 * sizes[1] <= sizes[0]:
                return 2
            return 1 if sizes[0] <= MANY_CHANNELS and 4 * sizes[0] <= sizes[1] else None
        case 3:
            if sizes[1] == sizes[2] != sizes[0]:
                return 1
            few = 4
            return 1 if sizes[0] <= few < sizes[2] and sizes[0] != sizes[1] else 3
        case _:
            return None


def is_series(values: NDArray[Any]) -> bool:
    """Say whether rows of numbers are one sensor's moments: neighbours are alike in all of them.

    >>> rng = np.random.default_rng(0)
    >>> is_series(rng.normal(size=(9, 64))), is_series(rng.normal(size=(9, 64)).cumsum(axis=1))
    (False, True)
    """
    if values.ndim != TABLE_NDIM or values.shape[1] < LONG or not np.isfinite(values).all():
        return False
    columns = values.astype(np.float64) - values.mean(axis=0)
    spread = columns.std(axis=0)
    columns = np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 0)
    return bool((columns[:, 1:] * columns[:, :-1]).mean() > ALIKE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One named transform. `cost` is 1 for a plain one and more for one with more freedom.

    `slack` is the share that may stay unexplained beside what everything may: what two programs
    that follow one standard differ in.
    """

    kind: str
    name: str
    apply: Callable[[Samples], Samples]
    parameters: dict[str, Parameter] = field(default_factory=dict)
    cost: float = 1.0
    slack: float = 0.0


def of_planes(
    kind: str,
    name: str,
    apply: Callable[[Array], Array],
    *,
    cost: float = 1.0,
    **parameters: Parameter,
) -> Proposal:
    """Propose a transform of (rows, channels, height, width)."""
    return Proposal(
        kind=kind,
        name=name,
        apply=lambda samples: samples.with_planes(apply(samples.planes)),
        parameters=parameters,
        cost=cost,
    )


# Takes the samples so far and the candidate; the order of its proposals does not matter.
Explainer: TypeAlias = Callable[[Samples, Samples], Iterator[Proposal]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The transform from reference to candidate.

    `residual_explained` is 1 - SSE / SST against the untransformed difference (against the
    candidate's own variance where shapes differ). `parts` are the kinds in order of application;
    `kind` joins them by "+". The parameters of a composition are prefixed by their kind.
    `alternatives` name what fits as well and is not simpler: on symmetric data more than one does.
    """

    name: str
    kind: str
    parameters: dict[str, Parameter]
    residual_explained: float
    parts: tuple[str, ...]
    alternatives: tuple[str, ...] = ()
