"""Channels of a series that lag behind the others: one sensor's clock is off."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned
from assay.explain.translation import Border, move

MIN_LENGTH = 8
MAX_CHANNELS = 32
NAMED_CHANNELS = 4
LIKE = 0.5  # of correlation at the best lag: a channel that fits nowhere has no lag
BETTER = 1.02  # times the correlation without a lag
BORDERS: tuple[Border, ...] = ("edge", "wrap", "constant")


def lag(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose for each channel the delay at the peak of its own cross-correlation, whole steps.

    One delay of all channels is a shift, and told by that explainer.
    """
    if not aligned(reference, candidate):
        return
    left, right = reference.planes, candidate.planes
    _, num_channels, length, width = left.shape
    if width != 1 or length < MIN_LENGTH or not 1 < num_channels <= MAX_CHANNELS:
        return
    lags = _lags(left[..., 0], right[..., 0])
    if not any(lags) or len(set(lags)) == 1:
        return
    late = [channel for channel, by in enumerate(lags) if by]
    told = ", ".join(
        f"{reference.named(c)} {abs(lags[c])} step{'s' * (abs(lags[c]) > 1)} "
        f"{'late' if lags[c] > 0 else 'early'}"
        for c in late[:NAMED_CHANNELS]
    )
    more = f" and {len(late) - NAMED_CHANNELS} more" if len(late) > NAMED_CHANNELS else ""
    for border in BORDERS:
        yield of_planes(
            "lag", told + more, _delayed(lags, border), cost=1.1, lags=lags, border=border
        )


def _lags(left: Array, right: Array) -> list[int]:
    """Give (channels) the delays of (rows, channels, moments), from correlations of all rows."""
    length = left.shape[2]
    spectra = [
        np.fft.rfft(side - side.mean(axis=2, keepdims=True), n=2 * length, axis=2)
        for side in (left, right)
    ]
    products = np.fft.irfft((np.conj(spectra[0]) * spectra[1]).sum(axis=0), n=2 * length, axis=1)
    norms = np.sqrt(np.prod([(np.abs(s) ** 2).sum(axis=(0, 2)) for s in spectra], axis=0))
    # A sum of the half spectrum counts each frequency once: as good a scale for comparisons.
    sizes = np.abs(products)
    lags = []
    for channel in range(left.shape[1]):
        best = int(sizes[channel].argmax())
        by = best - 2 * length * (best > length)
        energy = float(norms[channel]) / length
        fits = energy > 0 and sizes[channel, best] > LIKE * energy
        moved = abs(by) < length - 1 and sizes[channel, best] > BETTER * sizes[channel, 0]
        lags.append(by if fits and moved else 0)
    return lags


def _delayed(lags: list[int], border: Border) -> Callable[[Array], Array]:
    def apply(planes: Array) -> Array:
        moved = planes.copy()
        for channel, by in enumerate(lags):
            if by:
                moved[:, channel : channel + 1] = move(
                    planes[:, channel : channel + 1], (float(by), 0.0), border
                )
        return moved

    return apply
