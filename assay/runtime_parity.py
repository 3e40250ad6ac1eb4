"""Two models given the same tensors: the first layer that differs, and which numbers fit it.

Two runtimes sum in another order, so that float32 answers differ by some 1e-6 of their size; a
half has 11 bits (4.9e-4) and ends at 65504, a bfloat16 has 8 bits (3.9e-3) (IEEE 754-2019;
Kalamkar et al. 2019). What a format cannot hold shows in the range of a layer, not in its mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

HALF_LARGEST = 65504.0
FLOAT_ERROR = 1e-4  # of a layer's size: other kernels and folded batch norms
ROUNDED = {"float16": 0.02, "bfloat16": 0.1}  # most that a format does through a whole network
FEW_BITS, BFLOAT_BITS, HALF_BITS = 5, 8, 11  # of a mantissa with its leading one
WIDE = 4  # powers of two beyond its bits that a format's values reach over
LEAST_VALUES = 8  # finite numbers that are no small whole ones, to know a format by


def layer_error(reference: ArrayLike, candidate: ArrayLike) -> float | None:
    """Return the root mean square difference over the reference's size; None: nothing is finite.

    Size, not spread: a layer that answers nearly the same to all rows is not all difference.
    """
    ours, theirs = np.asarray(reference, np.float64), np.asarray(candidate, np.float64)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    if not finite.any():
        return None
    size = float(np.sqrt(np.mean(ours[finite] ** 2)))
    apart = float(np.sqrt(np.mean((ours[finite] - theirs[finite]) ** 2)))
    return apart / size if size else float(apart > 0)


def only_moved(reference: ArrayLike, candidate: ArrayLike) -> bool:
    """Tell whether each row holds the same values, in other places."""
    ours, theirs = np.sort(reference, axis=1), np.sort(candidate, axis=1)
    error = layer_error(ours, theirs)
    return ours.shape[1] > 1 and error is not None and error <= FLOAT_ERROR


def same_places(reference: ArrayLike, candidate: ArrayLike) -> bool:
    """Tell whether both are finite at the same places."""
    return bool(np.array_equal(np.isfinite(reference), np.isfinite(candidate)))


def number_format(values: ArrayLike) -> str | None:
    """Tell the narrowest format that holds every finite number; None: float32, or unclear.

    Small whole numbers and simple fractions fit any format, and tell nothing.

    >>> number_format(np.float16([0.1, 0.7, 3.3, 5.1, 0.3, 0.9, 1.1, 7.7]).astype(np.float32))
    'float16'
    """
    numbers: NDArray[np.float32] = np.asarray(values, np.float32).ravel()
    numbers = numbers[np.isfinite(numbers) & (numbers != 0)]
    fractions = numbers[numbers != np.round(numbers * 16) / 16]
    if len(np.unique(fractions)) < LEAST_VALUES:
        return None
    bits = mantissa_bits(numbers)
    if bits <= FEW_BITS:
        return f"{bits} bits"
    if bits <= BFLOAT_BITS:
        return "bfloat16"
    with np.errstate(over="ignore"):
        half = numbers.astype(np.float16).astype(np.float32)
    return "float16" if bits <= HALF_BITS or np.array_equal(half, numbers) else None


def narrowed(reference: ArrayLike, candidate: ArrayLike) -> str | None:
    """Tell the format that the candidate's values fit and the reference's do not.

    Few bits are known by their range too: on a grid of equal steps large numbers need more bits
    than small ones, in a number format all need the same.
    """
    if number_format(reference) is not None:
        return None
    sizes = np.unique(np.abs(np.asarray(candidate, np.float32).ravel()))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    bits = mantissa_bits(sizes)
    floats = bits <= FEW_BITS < mantissa_bits(reference) and len(sizes) >= LEAST_VALUES
    if floats and sizes[-1] >= sizes[0] * 2.0 ** (bits + WIDE):
        return f"{bits} bits"
    return number_format(candidate)


def mantissa_bits(values: ArrayLike) -> int:
    """Count the bits that the longest mantissa needs, the leading one among them.

    >>> mantissa_bits([1.0, 0.75, 5.0])
    3
    """
    numbers: NDArray[np.float32] = np.asarray(values, np.float32).ravel()
    held = int(np.bitwise_or.reduce(numbers.view(np.uint32) & np.uint32(0x7FFFFF), initial=0))
    return 1 if not held else 24 - (held & -held).bit_length() + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One layer of both models, in the order in which they run."""

    name: str
    error: float | None
    same_places: bool
    max_abs: tuple[float | None, float | None]  # reference, candidate
    not_finite: tuple[int, int]
    moved: bool = False  # each row holds the same values in other places
    narrow: str | None = None  # the format that the candidate's values fit, and the reference's not

    def differs(self, tolerance: float) -> bool:
        """Tell whether it differs by more than sums in another order do."""
        worse = self.not_finite[1] > self.not_finite[0]
        return worse or not self.same_places or (self.error is not None and self.error > tolerance)


def first_difference(steps: Sequence[Step], tolerance: float) -> Step | None:
    """Return the first layer that differs; what follows it inherits the difference."""
    return next((step for step in steps if step.differs(tolerance)), None)


def overflow(steps: Sequence[Step]) -> Step | None:
    """Return the first layer at which the candidate leaves the range that the reference stays in.

    The candidate is not finite where the reference is; or it is cut at a half's largest number.
    """
    for step in steps:
        ours, theirs = step.max_abs
        if step.not_finite[1] > step.not_finite[0]:
            return step
        cut = theirs is not None and abs(theirs - HALF_LARGEST) < 1
        if cut and ours is not None and ours > HALF_LARGEST + 1:
            return step
    return None


def beyond_half(steps: Sequence[Step]) -> Step | None:
    """Return the first layer whose values in the reference a half cannot hold."""
    held = (step for step in steps if step.max_abs[0] is not None)
    return next((step for step in held if (step.max_abs[0] or 0.0) > HALF_LARGEST), None)
