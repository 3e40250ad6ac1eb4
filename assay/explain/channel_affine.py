"""A slope and an offset for each channel: normalisation constants, dead or rescaled channels."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from assay.explain.affine import SLOPES, TOLERANCE, fit_line
from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned

# (mean, standard deviation) a channel, of values in [0, 1]; from the documentation of torchvision
# (ImageNet, MNIST), CLIP (Radford et al. 2021) and the usual CIFAR-10 recipes.
NORMALISATIONS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "ImageNet mean/std": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "ImageNet mean/std in BGR order": ((0.406, 0.456, 0.485), (0.225, 0.224, 0.229)),
    "mean .5, std .5": ((0.5,), (0.5,)),
    "CIFAR-10 mean/std": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "CIFAR-10 mean/std of batches": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "CLIP mean/std": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "MNIST mean/std": ((0.1307,), (0.3081,)),
    "ImageNet mean of 0-255, no std": (
        (123.675 / 255, 116.28 / 255, 103.53 / 255),
        (1 / 255, 1 / 255, 1 / 255),
    ),
    "range 0 to 1": ((0.0,), (1.0,)),
    "range 0 to 255": ((0.0,), (1 / 255,)),
}
PLAIN = {"range 0 to 1", "range 0 to 255", "mean .5, std .5"}
MAX_CHANNELS = 64
HOPELESS = 0.3  # of the variation: lines that leave more are followed by no map that mends it
MIN_VALUES = 16  # a channel; a line through fewer says little
NAMED_CHANNELS = 3
SHOWN_CHANNELS = 4  # with their lines


def channel_affine(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose a line a channel: known normalisations, changes of single channels, any lines."""
    if not aligned(reference, candidate):
        return
    left, right = reference.planes, candidate.planes
    num_channels = left.shape[1]
    if num_channels > MAX_CHANNELS or left[:, 0].size < MIN_VALUES:
        return
    if np.ptp(left, axis=(0, 2, 3)).max() == 0:
        return  # constants tell no slope from an offset
    lines = np.array([fit_line(left[:, c], right[:, c]) for c in range(num_channels)])
    slopes, offsets = lines[:, 0], lines[:, 1]
    error = ((right - _lines(slopes, offsets)(left)) ** 2).sum()
    if error > HOPELESS * ((right - right.mean(axis=(0, 2, 3), keepdims=True)) ** 2).sum():
        return
    yield from _known(slopes, offsets)
    if num_channels == 1:
        return
    spread = right.std(axis=(0, 2, 3))
    kept = (np.abs(slopes - 1) < TOLERANCE) & (np.abs(offsets) <= TOLERANCE * spread)
    changed = [int(channel) for channel in np.flatnonzero(~kept)]
    if 0 < len(changed) <= min(NAMED_CHANNELS, num_channels - 1):
        texts = [_text(reference.named(c), slopes[c], offsets[c], spread[c]) for c in changed]
        dead = all(spread[c] == 0 for c in changed)
        only = (np.where(kept, 1.0, slopes), np.where(kept, 0.0, offsets))
        kind = "channel_constant" if dead else "channel_affine"
        yield _propose(kind, "; ".join(texts), *only, 1.1 + 0.1 * len(changed))
    told = "; ".join(
        f"{reference.named(c)}: {_line(slopes[c], offsets[c], spread[c])}"
        for c in changed[:SHOWN_CHANNELS]
    )
    more = len(changed) - SHOWN_CHANNELS
    told += f"; and {more} more" if more > 0 else ""
    known = _slopes_of(slopes)
    name = f"each {reference.kind} rescaled on its own ({told}{known})"
    yield _propose("channel_affine", name, slopes, offsets, 1.7)


def _known(slopes: Array, offsets: Array) -> Iterator[Proposal]:
    """Propose the pairs of normalisations, had and wanted, that give these lines."""
    names, known_slopes, known_offsets = _pairs(len(slopes))
    slack = TOLERANCE * (1 + np.abs(known_slopes) + np.abs(known_offsets))
    fits = (np.abs(slopes - known_slopes) <= TOLERANCE * np.abs(known_slopes)).all(axis=1)
    fits &= (np.abs(offsets - known_offsets) <= slack).all(axis=1)
    for at in np.flatnonzero(fits):
        yield _propose("normalisation", names[at], known_slopes[at], known_offsets[at], 1.05)


@lru_cache(maxsize=8)
def _pairs(num_channels: int) -> tuple[list[str], Array, Array]:
    """Give what each pair of normalisations does to so many channels: names, slopes, offsets."""
    names, slopes, offsets = [], [], []
    for (had, (had_mean, had_std)), (got, (got_mean, got_std)) in product(
        NORMALISATIONS.items(), repeat=2
    ):
        constants = [np.array(v) for v in (had_mean, had_std, got_mean, got_std)]
        if had == got or any(len(v) not in {1, num_channels} for v in constants):
            continue
        # Two ranges, or two plain constants: `affine` says that in fewer words.
        if max(map(len, constants)) == 1 and {had, got} <= PLAIN:
            continue
        m0, s0, m1, s1 = constants
        names.append(f"normalised to {got} instead of {had}")
        slopes.append(np.broadcast_to(s0 / s1, (num_channels,)))
        offsets.append(np.broadcast_to((m0 - m1) / s1, (num_channels,)))
    shape = (len(names), num_channels)
    return names, np.array(slopes).reshape(shape), np.array(offsets).reshape(shape)


def _slopes_of(slopes: Array) -> str:
    """Name the normalisations whose deviations give these slopes, whatever the offsets are."""
    for (had, (_, had_std)), (got, (_, got_std)) in product(NORMALISATIONS.items(), repeat=2):
        lengths = {len(had_std), len(got_std)}
        if max(lengths) == 1 or not lengths <= {1, len(slopes)}:
            continue
        slope = np.array(had_std) / np.array(got_std)
        if np.ptp(slope) > 0 and (np.abs(slopes - slope) <= TOLERANCE * np.abs(slope)).all():
            return f"; slopes as of {got} instead of {had}"
    return ""


def _propose(kind: str, name: str, slopes: Array, offsets: Array, cost: float) -> Proposal:
    return of_planes(
        kind, name, _lines(slopes, offsets), cost=cost,
        slopes=[float(v) for v in slopes], offsets=[float(v) for v in offsets],
    )  # fmt: skip


def _lines(slopes: Array, offsets: Array) -> Callable[[Array], Array]:
    return lambda planes: planes * slopes[:, None, None] + offsets[:, None, None]


def _text(channel: str, slope: float, offset: float, spread: float) -> str:
    if spread == 0:
        return f"{channel} constant at {offset:.6g}"
    plus = "" if abs(offset) <= TOLERANCE * spread else f", {offset:+.6g}"
    return f"{channel} multiplied by {_times(slope, 6)}{plus}"


def _line(slope: float, offset: float, spread: float) -> str:
    if spread == 0:
        return f"constant at {offset:.4g}"
    sign = "-" if offset < 0 else "+"
    plus = "" if abs(offset) <= TOLERANCE * spread else f" {sign} {abs(offset):.4g}"
    return f"x {_times(slope, 4)}{plus}"


def _times(slope: float, digits: int) -> str:
    known = (text for text, v in SLOPES.items() if abs(abs(slope) - v) <= TOLERANCE * v)
    return ("-" if slope < 0 else "") + next(known, f"{abs(slope):.{digits}g}")
