"""How one side's tensors become the other's, where values only changed places and scale.

Fitted on pairs, without a label. What is found is a file of three arrays, so that it can be put in
front of a model anywhere: `tensors.reshape(rows, -1)[:, places] * gain + offset`. It undoes turns
and flips, orders of channels or columns, buffers read in another layout, and a scale and an offset
of each channel; what lost information (a crop, a quantiser) it does not undo, and says so by the
share that it explains.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_ORDERED = 4  # channels whose every order is tried; beyond that they are matched
PLANE = 2  # axes of a picture's plane
PICTURE = 3  # axes of a picture with channels


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangement:
    """Where each value comes from, and what it is multiplied by and added to."""

    places: NDArray[np.int64]  # (size,) into a flattened row
    gain: Floats  # (size,)
    offset: Floats  # (size,)
    shape: tuple[int, ...]  # of a row that it makes
    moved: bool  # values change places
    explained: float  # share of the squared difference that is gone

    def __call__(self, tensors: NDArray[Any]) -> NDArray[np.float32]:
        """Apply it to (rows, ...)."""
        flat = np.asarray(tensors, np.float64).reshape(len(tensors), -1)[:, self.places]
        made = (flat * self.gain + self.offset).astype(np.float32)
        return made.reshape(len(tensors), *self.shape)


def fit_rearrangement(given: NDArray[Any], wanted: NDArray[Any]) -> Rearrangement | None:
    """Find what turns given tensors into wanted ones, row by row the same samples.

    Args:
        given: (rows, ...) as they are.
        wanted: (rows, ...) of as many values a row.

    Returns:
        None where rows differ in size, are not finite, or are too few to tell.

    >>> rows = np.arange(40.0).reshape(10, 2, 2) ** 2
    >>> found = fit_rearrangement(rows, 2 * np.swapaxes(rows, 1, 2) + 1)
    >>> found.places.tolist(), round(found.explained, 6)
    ([0, 2, 1, 3], 1.0)
    """
    x, y = np.asarray(given, np.float64), np.asarray(wanted, np.float64)
    if x.shape[0] != y.shape[0] or x[0].size != y[0].size or len(x) < 4:  # noqa: PLR2004
        return None
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    flat, right = x.reshape(len(x), -1), y.reshape(len(y), -1)
    whole = float(((right - flat) ** 2).sum())
    if whole == 0:
        return None
    channels = _channels(y.shape[1:])
    best: Rearrangement | None = None
    for places in _orders(x, y):
        gain, offset, error = _scaled(flat[:, places], right, channels)
        explained = 1 - error / whole
        if best is None or explained > best.explained + 1e-9:
            best = Rearrangement(
                places=places,
                gain=gain,
                offset=offset,
                shape=y.shape[1:],
                moved=bool((places != np.arange(len(places))).any()),
                explained=explained,
            )
    return best


def channel_line(given: NDArray[Any], mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Return gain and offset of each value that bring each channel to a mean and a deviation.

    >>> gain, offset = channel_line(np.array([[1.0], [3.0]]), np.zeros(1), np.ones(1))
    >>> gain.tolist(), offset.tolist()
    ([1.0], [-2.0])
    """
    channels = _channels(given.shape[1:])
    own_mean, own_deviation = channel_figures(given)
    gain = np.where(own_deviation > 0, deviation / np.maximum(own_deviation, 1e-12), 1.0)
    return gain[channels], (mean - gain * own_mean)[channels]


def channel_figures(tensors: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return mean and deviation of each channel of (rows, ...)."""
    flat = np.asarray(tensors, np.float64).reshape(len(tensors), -1)
    channels = _channels(tensors.shape[1:])
    sizes = np.bincount(channels).astype(np.float64)
    mean = np.bincount(channels, flat.mean(axis=0)) / sizes
    square = np.bincount(channels, (flat**2).mean(axis=0)) / sizes
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _channels(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Number the channel of each value of a row: the axis that is unlike the two of a square."""
    from assay.explain.proposal import guess_channel_axis

    axis = guess_channel_axis((1, *shape))
    if axis is None:
        return np.zeros(int(np.prod(shape)), np.intp)
    return np.asarray(np.indices(shape)[axis - 1].ravel(), np.intp)


def _orders(given: Floats, wanted: Floats) -> Iterator[NDArray[np.int64]]:
    """Propose where values come from: the plainest first."""
    from assay.explain.proposal import guess_channel_axis

    shape = given.shape[1:]
    index: NDArray[np.int64] = np.arange(given[0].size).reshape(shape)
    axis = guess_channel_axis(given.shape)
    made = [index, *(index.transpose(axes) for axes in permutations(range(len(shape))))]
    made += _turned(index, [at for at in range(len(shape)) if axis is None or at != axis - 1])
    if axis is not None:
        made += [np.take(index, one, axis - 1) for one in _channel_orders(given, wanted, axis)]
    if len(shape) == PICTURE:  # a buffer read in the other layout
        made.append(index.reshape(shape[2], *shape[:2]).transpose(1, 2, 0))
        made.append(index.reshape(*shape[1:], shape[0]).transpose(2, 0, 1))
    seen: set[bytes] = set()
    for one in made:
        places = one.ravel().astype(np.int64)
        if one.shape == wanted.shape[1:] and places.tobytes() not in seen:
            seen.add(places.tobytes())
            yield places


def _turned(index: NDArray[np.int64], axes: list[int]) -> list[NDArray[np.int64]]:
    """Flip along each of these axes, and turn the plane of the last two."""
    plane = tuple(axes[-PLANE:])
    made: list[NDArray[np.int64]] = [np.flip(index, at) for at in plane]
    if len(plane) == PLANE:
        made += [np.flip(index, plane)]
        made += [np.swapaxes(one, *plane) for one in made]
    return made


def _channel_orders(given: Floats, wanted: Floats, axis: int) -> Iterator[list[int]]:
    number = given.shape[axis]
    if number <= MOST_ORDERED:
        yield from (list(order) for order in permutations(range(number)))
        return
    from scipy.optimize import linear_sum_assignment

    ours = np.moveaxis(wanted, axis, 0).reshape(number, -1)
    theirs = np.moveaxis(given, axis, 0).reshape(number, -1)
    if ours.shape != theirs.shape:
        return
    ours, theirs = _standard(ours), _standard(theirs)
    _, order = linear_sum_assignment(np.abs(ours @ theirs.T), maximize=True)
    yield [int(at) for at in order]


def _standard(rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    made: Floats = centred / np.maximum(length, 1e-12)
    return made


def _scaled(x: Floats, y: Floats, channels: NDArray[np.intp]) -> tuple[Floats, Floats, float]:
    """Fit a line a channel; return gain, offset and the squared error that is left."""
    count = int(channels.max()) + 1
    gains, offsets = np.ones(count), np.zeros(count)
    for channel in range(count):
        own_x, own_y = x[:, channels == channel], y[:, channels == channel]
        centred = own_x - own_x.mean()
        varies = float((centred**2).sum())
        if varies > 0:
            gains[channel] = float((centred * own_y).sum()) / varies
        offsets[channel] = float(own_y.mean() - gains[channel] * own_x.mean())
    gain, offset = gains[channels], offsets[channels]
    return gain, offset, float(((x * gain + offset - y) ** 2).sum())
