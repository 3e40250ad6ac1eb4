"""Pictures' fine detail: noise taken off, blur undone, and both made in simulation."""

import numpy as np

from assay.alterations import FILTERED, FITTED, PLAIN, Apply, Proposal
from assay.domains import Domains
from assay.tensor_axes import Values

LEAST_SIDE = 6  # pixels
NOISY, BLURRED = 1.25, 0.8  # ratio of the roughness, real over simulated, at equal contrast
SURE = 3.0
MOST_GAIN = 5.0
NARROWEST, WIDTHS, SOME = 0.3, 24, 100  # pixels, how many are tried, on how many pictures
LEVELS = (0.02, 1.25)  # contrast of the field beside its blur


def detail(domains: Domains) -> list[Proposal]:
    """Propose noise or blur undone, whichever the fine detail speaks for."""
    if min(domains.sim.shape[-2:]) < LEAST_SIDE:
        return []
    ours, theirs = _roughness(domains.sim), _roughness(domains.real)
    ratio = float(np.exp(theirs.mean() - ours.mean()))
    z = float(domains.surely(ours[:, None], theirs[:, None])[0])
    if ratio >= NOISY and z > SURE:
        says = f"{ratio:.2g} times as much fine detail as in simulation, at equal contrast"
        return _denoised(domains, (says,))
    if ratio <= BLURRED and z < -SURE:
        says = f"{ratio:.2g} times the fine detail of simulation, at equal contrast"
        return _sharpened(domains, (says,))
    return []


def _roughness(values: Values) -> Values:
    """Give (rows,): log of the deviation of the Laplacian over that of the picture."""
    inner = values[..., 1:-1, 1:-1]
    around = (
        values[..., :-2, 1:-1]
        + values[..., 2:, 1:-1]
        + values[..., 1:-1, :-2]
        + values[..., 1:-1, 2:]
    )
    rows = len(values)
    rough = (4 * inner - around).reshape(rows, -1).std(axis=1)
    whole = values.reshape(rows, -1).std(axis=1)
    made: Values = np.log(np.maximum(rough, 1e-9) / np.maximum(whole, 1e-9))
    return made


def _rings(values: Values) -> tuple[Values, Values]:
    """Give the ring of each frequency of a picture, and the mean power of each ring."""
    height, width = values.shape[-2:]
    places = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    rings = np.round(places * min(height, width)).astype(int)
    centred = values - values.mean(axis=(-2, -1), keepdims=True)
    power = (np.abs(np.fft.rfft2(centred)) ** 2).mean(axis=(0, 1))
    sums = np.bincount(rings.ravel(), power.ravel())
    counts = np.maximum(1, np.bincount(rings.ravel()))
    return rings.astype(np.float64), sums / counts


def _powers(domains: Domains) -> tuple[Values, Values, Values]:
    """Give the rings and both powers, the field's brought to simulation's slow rings."""
    rings, ours = _rings(domains.sim)
    _, theirs = _rings(domains.real)
    slow = max(3, len(ours) // 5)
    level = (ours[:slow].sum() + 1e-12) / (theirs[:slow].sum() + 1e-12)
    return rings.astype(int), ours, theirs * level


def _gained(gain: Values) -> Apply:
    def apply(values: Values) -> Values:
        means = values.mean(axis=(-2, -1), keepdims=True)
        spectrum = np.fft.rfft2(values - means) * gain
        made: Values = np.fft.irfft2(spectrum, values.shape[-2:]) + means
        return made

    return apply


def _within(values: Values, domains: Domains) -> Values:
    return np.clip(values, domains.sim.min(), domains.sim.max())


def _denoised(domains: Domains, says: tuple[str, ...]) -> list[Proposal]:
    rings, ours, theirs = _powers(domains)
    gain = np.clip(ours / np.maximum(theirs, 1e-12), 0, 1)[rings]
    # White noise has one power at all frequencies: the fast rings show it best.
    fast = slice(2 * len(ours) // 3, None)
    size = domains.sim.shape[-1] * domains.sim.shape[-2]
    variance = max(0.0, float(np.median(theirs[fast] - ours[fast]))) / size

    def noised(values: Values) -> Values:
        white = np.random.default_rng(domains.seed).normal(size=values.shape)
        made: Values = values + np.sqrt(variance) * white
        return made

    shared = {"kind": "sensor_noise", "domain": "real", "family": "restore", "evidence": says}
    return [
        Proposal(
            key="denoise-wiener",
            title="noise (filtered to simulation's spectrum)",
            simplicity=FITTED,
            apply=_gained(gain),
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="denoise-median",
            title="noise (median of 3x3 pixels)",
            simplicity=FITTED + 1,
            apply=median,
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="denoise-gauss",
            title="noise (a Gaussian of 0.7 pixels)",
            simplicity=FITTED + 2,
            apply=blurred(0.7),
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="sim-noise",
            title=f"simulation with the field's noise (a deviation of {np.sqrt(variance):.2g})",
            kind="sensor_noise",
            domain="sim",
            family="reproduce",
            simplicity=PLAIN,
            apply=noised,
            evidence=says,
        ),
    ]


def median(values: Values) -> Values:
    """Take the median of the 3x3 pixels around each."""
    padded = np.pad(values, [(0, 0)] * (values.ndim - 2) + [(1, 1), (1, 1)], mode="edge")
    height, width = values.shape[-2:]
    nine = [padded[..., y : y + height, x : x + width] for y in range(3) for x in range(3)]
    made: Values = np.median(np.stack(nine), axis=0)
    return made


def blurred(deviation: float) -> Apply:
    """Give a Gaussian blur, its edge pixels going on beyond the edge."""
    reach = max(1, round(3 * deviation))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    weights /= weights.sum()

    def apply(values: Values) -> Values:
        made = values
        for axis in (-2, -1):
            widths = [(0, 0)] * values.ndim
            widths[axis] = (reach, reach)
            padded = np.pad(made, widths, mode="edge")
            size = values.shape[axis]
            parts = [
                weight * np.take(padded, range(at, at + size), axis=axis)
                for at, weight in enumerate(weights)
            ]
            made = np.sum(parts, axis=0)
        return made

    return apply


def _width(domains: Domains) -> float:
    """Fit the Gaussian that gives simulation the amplitudes of the field, ring by ring.

    Its slow rings are not taken for unblurred: of a small picture they are blurred as well.
    """
    _, power = _rings(domains.real)
    theirs, some = np.sqrt(power), domains.sim[:SOME]

    def apart(width: float) -> float:
        ours = np.sqrt(_rings(blurred(width)(some))[1])
        level = np.clip(ours @ theirs / max(float(ours @ ours), 1e-12), *LEVELS)
        return float(((level * ours - theirs) ** 2).sum())

    widest = min(domains.sim.shape[-2:]) / 4
    widths = np.geomspace(NARROWEST, max(2 * NARROWEST, widest), WIDTHS)
    return float(min(widths, key=apart))


def _sharpened(domains: Domains, says: tuple[str, ...]) -> list[Proposal]:
    rings, ours, theirs = _powers(domains)
    ratio = ours / np.maximum(theirs, 1e-12)
    gain = np.clip(np.sqrt(ratio), 1, MOST_GAIN)[rings]
    filtered = _gained(gain)
    soft, width = blurred(1.0), _width(domains)

    def unsharp(values: Values) -> Values:
        return _within(values + 1.5 * (values - soft(values)), domains)

    shared = {"kind": "blur", "domain": "real", "family": "restore", "evidence": says}
    return [
        Proposal(
            key="sharpen",
            title="blur (spectrum matched to simulation's)",
            simplicity=FILTERED,
            apply=lambda values: _within(filtered(values), domains),
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="sharpen-mask",
            title="blur (an unsharp mask)",
            simplicity=FILTERED - 5,
            apply=unsharp,
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="sim-blur",
            title=f"simulation blurred as the field is (a Gaussian of {width:.2g} pixels)",
            kind="blur",
            domain="sim",
            family="reproduce",
            simplicity=PLAIN,
            apply=blurred(width),
            evidence=says,
        ),
    ]
