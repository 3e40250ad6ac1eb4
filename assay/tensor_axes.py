"""Where the channels of input tensors stand: pictures, signals and tables in one order."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["pictures", "signals", "table"]
Values = NDArray[np.float64]

ROW, SIGNAL, PICTURE = 2, 3, 4  # axes of a batch
COLOURS = (1, 2, 3, 4)  # channels of a picture
MOST_CHANNELS = 32  # of a signal
LONG = 2  # a signal has at least so many moments to a channel


@dataclass(frozen=True, slots=True)
class Axes:
    """How tensors are laid out."""

    kind: Kind
    channels: int | None  # the axis of the channels; None: there is only one, without an axis

    def canonical(self, tensors: NDArray[Any]) -> Values:
        """Give (rows, channels, ...), a fresh array."""
        values = np.array(tensors, dtype=np.float64)
        if self.channels is None:
            return values[:, None]
        return np.ascontiguousarray(np.moveaxis(values, self.channels, 1))

    def back(self, values: Values) -> NDArray[np.float32]:
        """Give the tensors of canonical values, as a model takes them."""
        made = values[:, 0] if self.channels is None else np.moveaxis(values, 1, self.channels)
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(made, dtype=np.float32)


def axes_of(shape: tuple[int, ...]) -> Axes | None:
    """Tell from the shape of a batch; None where it is neither of the kinds.

    >>> axes_of((9, 3, 32, 32)), axes_of((9, 32, 32, 3))
    (Axes(kind='pictures', channels=1), Axes(kind='pictures', channels=3))
    >>> axes_of((9, 6, 100)), axes_of((9, 100, 6)), axes_of((9, 28, 28))
    (Axes(kind='signals', channels=1), Axes(kind='signals', channels=2), \
Axes(kind='pictures', channels=None))
    >>> axes_of((9, 5)), axes_of((9,))
    (Axes(kind='table', channels=1), None)
    """
    if len(shape) == ROW:
        return Axes("table", 1)
    if len(shape) == SIGNAL:
        few, many = sorted(shape[1:])
        if many >= LONG * few and few <= MOST_CHANNELS:
            return Axes("signals", 1 if shape[1] == few else 2)
        return Axes("pictures", None)
    if len(shape) == PICTURE:
        last = shape[1] not in COLOURS and shape[3] in COLOURS
        return Axes("pictures", 3 if last else 1)
    return None


def names_of(axes: Axes, num_channels: int, columns: list[str]) -> list[str]:
    """Name the channels.

    >>> names_of(Axes("pictures", 1), 3, [])
    ['red', 'green', 'blue']
    """
    if len(columns) == num_channels:
        return list(columns)
    if axes.kind == "pictures":
        named = {1: ["brightness"], 3: ["red", "green", "blue"]}.get(num_channels)
        if named:
            return named
    word = "column" if axes.kind == "table" else "channel"
    return [f"{word} {at}" for at in range(num_channels)]
