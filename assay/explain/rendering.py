"""Pictures brought to another size by the filters that picture libraries have."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assay.explain.proposal import Array

TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Filter:
    """How a pixel is made of its neighbours: a weight by distance, in pixels of the source."""

    name: str
    reach: float
    weigh: Callable[[Array], Array]


def _hat(x: Array) -> Array:
    return np.asarray(np.maximum(0.0, 1 - np.abs(x)))


def _box(x: Array) -> Array:
    return ((x > -0.5) & (x <= 0.5)).astype(np.float64)  # noqa: PLR2004


def _cubic(sharp: float) -> Callable[[Array], Array]:
    """Give Keys' cubic (1981); -0.5 is Pillow's, -0.75 that of OpenCV and torch."""

    def weigh(x: Array) -> Array:
        x = np.abs(x)
        near = ((sharp + 2) * x - (sharp + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * x * sharp - 4 * sharp
        return np.where(x < 1, near, np.where(x < 2, far, 0.0))  # noqa: PLR2004

    return weigh


def _lanczos(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)  # noqa: PLR2004


HAT = Filter("bilinear", 1.0, _hat)
FILTERS = (
    HAT,
    Filter("bicubic", 2.0, _cubic(-0.5)),
    Filter("bicubic (-0.75)", 2.0, _cubic(-0.75)),
    Filter("Lanczos", 3.0, _lanczos),
    Filter("box", 0.5, _box),
)


@dataclass(frozen=True, slots=True)
class Rendering:
    """One way to bring pictures to another size: (had, wanted) to a matrix (wanted, had)."""

    name: str
    matrix: Callable[[int, int], Array]

    def apply(self, planes: Array, size: tuple[int, int]) -> Array:
        """Bring (rows, channels, height, width) to this height and width."""
        height, width = planes.shape[2:]
        if height != size[0]:
            planes = np.einsum("ij,ncjw->nciw", self.matrix(height, size[0]), planes, optimize=True)
        if width != size[1]:
            planes = np.asarray(planes @ self.matrix(width, size[1]).T)
        return planes


def _renderings() -> Iterator[Rendering]:
    for kind in FILTERS:
        if kind.name != "box":
            yield Rendering(f"{kind.name}", _matrix(kind, wide=False, ends=False))
        wide = "" if kind.name == "box" else ", antialiased"
        yield Rendering(f"{kind.name}{wide}", _matrix(kind, wide=True, ends=False))
    yield Rendering("nearest", _picked(0.5))
    # A place between two pixels falls to either side of it by the last bit of Pillow's sum.
    yield Rendering("nearest, as Pillow adds", _picked(0.5, adds=True))
    yield Rendering("nearest, from the corner", _picked(0.0))
    yield Rendering("area", _area)
    yield Rendering("bilinear, corners aligned", _matrix(HAT, wide=False, ends=True))


def _matrix(kind: Filter, *, wide: bool, ends: bool) -> Callable[[int, int], Array]:
    @lru_cache(maxsize=64)
    def make(had: int, wanted: int) -> Array:
        ratio = had / wanted
        middles = (np.arange(wanted) + 0.5) * ratio - 0.5
        if ends:
            middles = np.linspace(0, had - 1, wanted)
        stretch = max(1.0, ratio) if wide else 1.0
        reach = int(np.ceil(kind.reach * stretch)) + 1
        # Antialiased filters end at the border; the others read its pixels again.
        places = np.floor(middles)[:, None] + np.arange(-reach, reach + 1)
        weights = kind.weigh((places - middles[:, None]) / stretch)
        if wide:
            weights = np.where((places >= 0) & (places < had), weights, 0.0)
        matrix = np.zeros((wanted, had))
        rows = np.broadcast_to(np.arange(wanted)[:, None], places.shape)
        np.add.at(matrix, (rows, np.clip(places, 0, had - 1).astype(np.intp)), weights)
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))

    return make


def _picked(middle: float, *, adds: bool = False) -> Callable[[int, int], Array]:
    @lru_cache(maxsize=64)
    def make(had: int, wanted: int) -> Array:
        places = (np.arange(wanted) + middle) * had / wanted + TINY
        if adds:
            ratio = had / wanted
            places = np.cumsum(np.where(np.arange(wanted) == 0, middle * ratio, ratio))
        at = np.floor(places).astype(np.intp)
        matrix = np.zeros((wanted, had))
        matrix[np.arange(wanted), np.clip(at, 0, had - 1)] = 1.0
        return matrix

    return make


@lru_cache(maxsize=64)
def _area(had: int, wanted: int) -> Array:
    """Give the share of each source pixel that a wanted pixel covers."""
    edges = np.linspace(0, had, wanted + 1)
    low, high = edges[:-1, None], edges[1:, None]
    left, right = np.arange(had)[None], np.arange(1, had + 1)[None]
    shares = np.maximum(0.0, np.minimum(high, right) - np.maximum(low, left))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


RENDERINGS = tuple(_renderings())
"""All ways, the most usual first."""
