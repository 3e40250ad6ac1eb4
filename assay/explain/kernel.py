"""Neighbours mixed by one small kernel: blurred, smoothed or sharpened."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import numpy as np

from assay.explain.proposal import Array, Parameter, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation

Edge: TypeAlias = Literal["reflect", "symmetric", "edge", "constant", "wrap", "kept"]
# numpy's words, and "kept": the border is left as it was.
EDGES: tuple[Edge, ...] = ("symmetric", "reflect", "edge", "constant", "wrap", "kept")
RELATED = 0.02  # of squared correlation: white noise under a Gaussian of 2 px keeps as much
FIT = 0.98  # of the variation inside the border: a kernel that explains less is none
OFF_CENTRE = 0.05  # pixels: a kernel whose mass lies further off is a shift, told elsewhere
BORDER = 0.1  # of the variation may differ at the border, before its kind is known
LEAST_SUM = 0.05  # of the weights' sizes: a kernel that sums to less is a derivative
BOXES = (3, 5, 7, 9, 11, 15, 21)
WIDE_BOX, SIDES = 7, 4  # of a wider one a picture's side holds so many, at least
EXACT = 0.99999  # of squared correlation: a wider kernel would say no more
SIGMAS = np.geomspace(0.3, 6, 14)
WIDEST = 24  # px of a picture or fewer have no use for wider ones
WIDE = np.geomspace(6, 24, 7)  # tried where the widest of the others fits best
SIGMA_STEPS = 12
MIN_SIDE = 5
SNAP = 0.02  # relative, of a width to a round one
FITTED_VALUES = 1 << 13
MANY_ROWS = 4  # that the width is searched on


def kernel(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a Gaussian, a box, and the kernel fitted by least squares (3 or 5 wide).

    Values are compared up to a slope and an offset; a map of values may follow. A fitted kernel
    must be symmetric about its middle: what is not has moved the picture.
    """
    if not aligned(reference, candidate) or max(reference.planes.shape[2:]) < MIN_SIDE:
        return
    left, right = reference.planes, candidate.planes
    if correlation(left, right) < RELATED:
        return
    axes = tuple(axis for axis in (2, 3) if left.shape[axis] >= MIN_SIDE)
    yield from _gaussian(left, right, axes)
    yield from _box(left, right, axes)
    yield from _fitted(left, right, axes)


def convolve(planes: Array, weights: Array, edge: Edge) -> Array:
    """Correlate (rows, channels, height, width) with (odd, odd) weights; borders as `edge` says."""
    down, across = (size // 2 for size in weights.shape)
    padded = pad(planes, down, across, edge)
    height, width = planes.shape[2:]
    total = np.zeros(planes.shape)
    for row, column in zip(*np.nonzero(weights), strict=True):
        part = padded[:, :, row : row + height, column : column + width]
        total += weights[row, column] * part
    if edge == "kept":
        inner = np.s_[:, :, down : height - down, across : width - across]
        whole = planes.copy()
        whole[inner] = total[inner]
        return whole
    return total


def pad(planes: Array, down: int, across: int, edge: Edge) -> Array:
    """Add a border; a reflection of a picture that is too small repeats its edge instead."""
    widths = ((0, 0), (0, 0), (down, down), (across, across))
    small = planes.shape[2] <= down or planes.shape[3] <= across
    mode = "edge" if edge == "kept" or (small and edge == "reflect") else edge
    return np.pad(planes, widths, mode=mode)


def _along(planes: Array, weights: Array, axes: tuple[int, ...], edge: Edge) -> Array:
    for axis in axes:
        shaped = weights[:, None] if axis == 2 else weights[None, :]  # noqa: PLR2004
        planes = convolve(planes, shaped, edge)
    return planes


def _bell(sigma: float) -> Array:
    reach = max(1, int(np.ceil(4 * sigma)))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    return np.asarray(weights / weights.sum())


def _gaussian(left: Array, right: Array, axes: tuple[int, ...]) -> Iterator[Proposal]:
    few, wanted = left[:MANY_ROWS], right[:MANY_ROWS]

    def fit(sigma: float) -> float:
        return correlation(_along(few, _bell(sigma), axes, "symmetric"), wanted)

    sigmas = SIGMAS
    fits = [fit(float(sigma)) for sigma in sigmas]
    if int(np.argmax(fits)) == len(sigmas) - 1 and max(map(left.shape.__getitem__, axes)) > WIDEST:
        sigmas = WIDE
        fits = [fit(float(sigma)) for sigma in sigmas]
    if max(fits) < FIT - BORDER:
        return
    best = int(np.argmax(fits))
    low, high = float(sigmas[max(0, best - 1)]), float(sigmas[min(len(sigmas) - 1, best + 1)])
    for _ in range(SIGMA_STEPS):
        third = (high - low) / 3
        if fit(low + third) < fit(high - third):
            low += third
        else:
            high -= third
    sigma = (low + high) / 2
    round_one = round(sigma * 4) / 4
    sigma = round_one if round_one and abs(sigma - round_one) <= SNAP * round_one else sigma
    text = f"blurred (Gaussian, sigma {sigma:.3g} {'px' if len(axes) > 1 else 'steps'})"
    way = _separable(_bell(sigma), axes)
    yield _propose("blur", text, way, _best_edge(few, wanted, way), 1.3, sigma=sigma)


def _box(left: Array, right: Array, axes: tuple[int, ...]) -> Iterator[Proposal]:
    few, wanted = left[:MANY_ROWS], right[:MANY_ROWS]
    side = min(left.shape[axis] for axis in axes)
    for size in BOXES:
        if size > WIDE_BOX and SIDES * size > side:
            return
        way = _separable(np.full(size, 1 / size), axes)
        if correlation(way(few, "symmetric"), wanted) >= FIT - BORDER:
            text = f"blurred (mean of {'x'.join([str(size)] * len(axes))})"
            yield _propose("blur", text, way, _best_edge(few, wanted, way), 1.25, size=size)


def _fitted(left: Array, right: Array, axes: tuple[int, ...]) -> Iterator[Proposal]:
    for reach in (1, 2):
        weights = _least_squares(left, right, axes, reach)
        if weights is None:
            continue
        total, size = float(weights.sum()), float(np.abs(weights).sum())
        if abs(total) < LEAST_SUM * size or _off_centre(weights / total) > OFF_CENTRE:
            continue
        scaled = weights / total
        middle = float(scaled[scaled.shape[0] // 2, scaled.shape[1] // 2])
        shape = "x".join(str(side) for side in scaled.shape if side > 1)
        kind, verb = ("sharpen", "sharpened") if middle > 1 else ("blur", "smoothed")
        text = f"{verb} by a {shape} kernel (its middle {middle:.3g} of 1)"
        way = _whole(scaled)
        edge = _best_edge(left[:MANY_ROWS], right[:MANY_ROWS], way)
        flat = [float(v) for v in scaled.ravel()]
        yield _propose(kind, text, way, edge, 1.35 + 0.1 * reach, weights=flat)
        if correlation(way(left[:MANY_ROWS], edge), right[:MANY_ROWS]) > EXACT:
            return


Way: TypeAlias = Callable[[Array, Edge], Array]


def _separable(weights: Array, axes: tuple[int, ...]) -> Way:
    return lambda planes, edge: _along(planes, weights, axes, edge)


def _whole(weights: Array) -> Way:
    return lambda planes, edge: convolve(planes, weights, edge)


def _propose(
    kind: str, text: str, way: Way, edge: Edge, cost: float, **parameters: Parameter
) -> Proposal:
    return of_planes(kind, text, lambda p: way(p, edge), cost=cost, edge=edge, **parameters)


def _least_squares(left: Array, right: Array, axes: tuple[int, ...], reach: int) -> Array | None:
    """Fit the kernel inside the border, the mean of each channel apart; None where none fits."""
    sizes = [2 * reach + 1 if axis in axes else 1 for axis in (2, 3)]
    height, width = (left.shape[2 + i] - sizes[i] + 1 for i in range(2))
    down, across = (size // 2 for size in sizes)
    if height < 2 and width < 2:  # noqa: PLR2004
        return None
    goal = right[:, :, down : down + height, across : across + width]
    columns = [
        left[:, :, row : row + height, column : column + width]
        for row in range(sizes[0])
        for column in range(sizes[1])
    ]
    rows = max(1, FITTED_VALUES // max(1, goal[0].size))
    parts = [part[:rows] - part[:rows].mean(axis=(0, 2, 3), keepdims=True) for part in columns]
    design = np.stack([part.ravel() for part in parts], axis=1)
    wanted = (goal[:rows] - goal[:rows].mean(axis=(0, 2, 3), keepdims=True)).ravel()
    if len(wanted) < 8 * design.shape[1] or not wanted.any():
        return None
    gram = design.T @ design
    gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram))
    found = np.linalg.solve(gram, design.T @ wanted)
    if 1 - float(((wanted - design @ found) ** 2).sum() / (wanted**2).sum()) < FIT:
        return None
    return np.asarray(found).reshape(sizes)


def _off_centre(weights: Array) -> float:
    down, across = (np.arange(size) - size // 2 for size in weights.shape)
    return float(
        max(abs((weights.sum(axis=1) * down).sum()), abs((weights.sum(axis=0) * across).sum()))
    )


def _best_edge(few: Array, wanted: Array, apply: Callable[[Array, Edge], Array]) -> Edge:
    return max(EDGES, key=lambda edge: correlation(apply(few, edge), wanted))
