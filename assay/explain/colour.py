"""Colours mixed: another colour space, grey by some weights, a tint, or any 3x3 matrix."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes

COLOURS = 3
FIT = 0.98  # of the variation
NEAR = 4e-3  # of a matrix's largest entry; the matrices in use are written with three digits
FITTED_VALUES = 1 << 14
GREYS = {
    "BT.601 weights (.299, .587, .114)": (0.299, 0.587, 0.114),
    "BT.709 weights (.2126, .7152, .0722)": (0.2126, 0.7152, 0.0722),
    "the mean of the channels": (1 / 3, 1 / 3, 1 / 3),
}
_YCC601 = np.array(
    [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]
)
_YCC709 = np.array(
    [[0.2126, 0.7152, 0.0722], [-0.114572, -0.385428, 0.5], [0.5, -0.454153, -0.045847]]
)
_YUV = np.array([[0.299, 0.587, 0.114], [-0.14713, -0.28886, 0.436], [0.615, -0.51499, -0.10001]])
_STUDIO = np.diag([219.0, 224.0, 224.0]) / 255  # ITU-R BT.601-7, section 2.5: 16 to 235 and 240
_SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])
_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
# ITU-R BT.601-7 and BT.709-6 (YCbCr), IEC 61966-2-1 (XYZ of sRGB); sepia as picture programs do.
MATRICES: dict[str, Array] = {
    f"grey by {name}": np.tile(weights, (3, 1)) for name, weights in GREYS.items()
} | {
    "RGB to YCbCr (BT.601)": _YCC601,
    "RGB to YCbCr (BT.709)": _YCC709,
    "RGB to YUV": _YUV,
    "RGB to YCbCr (BT.601, 16 to 235)": _STUDIO @ _YCC601,
    "YCbCr to RGB (BT.601)": np.linalg.inv(_YCC601),
    "YCbCr to RGB (BT.709)": np.linalg.inv(_YCC709),
    "YUV to RGB": np.linalg.inv(_YUV),
    "YCbCr to RGB (BT.601, 16 to 235)": np.linalg.inv(_STUDIO @ _YCC601),
    "RGB to XYZ": _XYZ,
    "sepia": _SEPIA,
}


def colour(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose the colour matrix that fits, by its name where it has one; and HSV.

    The reference has three channels, the candidate three or one. A matrix that is a permutation or
    scales channels alone is told by other explainers.
    """
    left = reference.planes
    if left.shape[1] != COLOURS or left.shape[2] * left.shape[3] == 1:
        return
    if candidate.values.ndim == reference.values.ndim - 1:
        yield from _to_plane(reference, candidate)
        return
    right = candidate.planes
    if left.shape[2:] != right.shape[2:] or right.shape[1] not in {1, COLOURS}:
        return
    hue = _hsv(left) if left.min() >= 0 and right.shape[1] == COLOURS else None
    if hue is not None and _alike(hue, right):
        yield of_planes("colour_space", "RGB to HSV", _hsv, cost=1.1)
    fitted = _fit(left, right)
    if fitted is None:
        return
    yield from _named(*fitted)
    yield from _unnamed(*fitted)


def _named(matrix: Array, offsets: Array) -> Iterator[Proposal]:
    """Propose the known matrices, and more or less of the colours."""
    for name, known in MATRICES.items():
        for order, said in ((slice(None), ""), (slice(None, None, -1), ", of BGR read as RGB")):
            part = known[: len(matrix), order]
            if len(matrix) == 1 and not name.startswith("grey"):
                continue
            scale = float((matrix * part).sum() / (part**2).sum())
            if np.abs(matrix - scale * part).max() <= NEAR * np.abs(matrix).max():
                shift = offsets if abs(scale - 1) < NEAR else offsets * 0
                yield _propose(f"{_plain(name)}{said}", part, _snap(shift), 1.05)
    if matrix.shape != (COLOURS, COLOURS):
        return
    kept = float(np.trace(matrix) - 1) / 2
    for name, weights in GREYS.items():
        part = kept * np.eye(COLOURS) + (1 - kept) * np.tile(weights, (COLOURS, 1))
        if abs(kept - 1) > NEAR and np.abs(matrix - part).max() <= NEAR * np.abs(matrix).max():
            text = f"colours {kept:.3g} times as strong (about grey by {name})"
            yield _propose(text, part, _snap(offsets), 1.1)


def _unnamed(matrix: Array, offsets: Array) -> Iterator[Proposal]:
    if matrix.shape == (COLOURS, COLOURS) and _mixes(matrix):
        numbers = "; ".join(" ".join(f"{v:.3g}" for v in row) for row in matrix)
        yield _propose(f"colours mixed by a matrix ({numbers})", matrix, offsets, 2.2)
    elif len(matrix) == 1:
        weights = ", ".join(f"{v:.3g}" for v in matrix[0])
        yield _propose(f"one channel mixed of three (weights {weights})", matrix, offsets, 2.2)


def _plain(name: str) -> str:
    return name if name.startswith(("grey", "sepia")) else f"colours from {name}"


def _to_plane(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose grey where the axis of colours is gone."""
    axis = reference.channel_axis
    if axis is None:
        return
    if tuple(np.delete(reference.values.shape, axis)) != candidate.values.shape:
        return
    plane = Samples(values=candidate.values, channel_axis=None)
    for found in colour(
        reference, Samples(values=np.expand_dims(plane.values, axis), channel_axis=axis)
    ):
        yield Proposal(
            kind=found.kind,
            name=found.name,
            apply=_flat(found, axis),
            parameters=found.parameters,
            cost=found.cost,
        )


def _flat(found: Proposal, axis: int) -> Callable[[Samples], Samples]:
    return lambda samples: Samples(
        values=np.take(found.apply(samples).values, 0, axis=axis), channel_axis=None
    )


def _fit(left: Array, right: Array) -> tuple[Array, Array] | None:
    """Fit right = matrix left + offsets a place; None where that leaves too much."""
    rows = max(1, FITTED_VALUES // left[0].size)
    x = np.moveaxis(left[:rows], 1, -1).reshape(-1, left.shape[1])
    y = np.moveaxis(right[:rows], 1, -1).reshape(-1, right.shape[1])
    if len(x) < 8 * (x.shape[1] + 1):
        return None
    design = np.column_stack([x, np.ones(len(x))])
    found = np.linalg.lstsq(design, y, rcond=1e-9)[0]
    error = float(((y - design @ found) ** 2).sum())
    total = float(((y - y.mean(axis=0)) ** 2).sum())
    if total == 0 or 1 - error / total < FIT:
        return None
    return np.asarray(found[:-1].T, np.float64), np.asarray(found[-1], np.float64)


def _mixes(matrix: Array) -> bool:
    """Say whether any channel is made of more than one."""
    sizes = np.abs(matrix)
    return bool((np.sort(sizes, axis=1)[:, -2] > 0.01 * sizes.max()).any())


def _snap(offsets: Array) -> Array:
    for step in (0.5, 1.0, 16 / 255):
        near = np.rint(offsets / step) * step
        if np.abs(offsets - near).max() < 1e-3 * max(1.0, float(np.abs(offsets).max())):
            return np.asarray(near)
    return offsets


def _propose(name: str, matrix: Array, offsets: Array, cost: float) -> Proposal:
    def apply(planes: Array) -> Array:
        return np.asarray(np.einsum("oc,nchw->nohw", matrix, planes) + offsets[:, None, None])

    return of_planes(
        "colour_matrix", name, apply, cost=cost,
        matrix=[float(v) for v in matrix.ravel()], offsets=[float(v) for v in offsets],
    )  # fmt: skip


def _alike(left: Array, right: Array) -> bool:
    """Say whether each channel follows its own line, whatever the units of hue and value are."""
    for channel in range(COLOURS):
        x, y = left[:, channel].ravel(), right[:, channel].ravel()
        if not (x.std() and y.std()) or np.corrcoef(x, y)[0, 1] < FIT:
            return False
    return True


def _hsv(planes: Array) -> Array:
    """Give hue in turns, saturation in [0, 1], and value as it was (Smith 1978)."""
    red, green, blue = (planes[:, c] for c in range(COLOURS))
    value, low = planes.max(axis=1), planes.min(axis=1)
    span = value - low
    safe = np.where(span > 0, span, 1.0)
    hue = np.where(
        value == red,
        ((green - blue) / safe) % 6,
        np.where(value == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    saturation = np.divide(span, value, out=np.zeros_like(span), where=value > 0)
    return np.stack([np.where(span > 0, hue / 6, 0.0), saturation, value], axis=1)
