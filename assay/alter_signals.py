"""Signals in time: a lag between channels, values held, noise and smoothing."""

import numpy as np
from numpy.typing import NDArray

from assay.alterations import FILTERED, FITTED, PLAIN, SINGLE, Apply, Proposal, is_sensor
from assay.domains import Domains
from assay.tensor_axes import Values

MOST_LAG = 24  # samples, at most a quarter of a signal
FLAT = 1e-9
LEAST_ROWS = 5  # of a class
LEAST_TIME = 16  # samples
LEAST_NEARER = 0.02  # of a correlation: less is noise
BETTER = 0.15  # of the fit of the correlograms
HELD = 0.2  # share of moments beyond simulation's
ROUGH, SMOOTH = 1.3, 0.77  # ratio of the roughness, real over simulated


def lags(domains: Domains, most: int = 2) -> list[Proposal]:
    """Propose each of the sensors that lag moved in time, over a range of lags.

    The lag between channels shows in their cross-correlograms: moved by the right number of
    samples, the field's look like simulation's.
    """
    time = domains.sim.shape[-1]
    if time < LEAST_TIME or domains.num_channels < 2:  # noqa: PLR2004
        return []
    found = _lagging(domains, min(MOST_LAG, time // 4))
    made = []
    for gain, channels, lag in found[:most]:
        swept = sorted({-8, -6, -4, -2, 2, 4, 6, 8, lag - 1, lag, lag + 1} - {0})
        says = (
            f"moved by {lag} samples, its correlation with the other channels over time is "
            f"{gain:.0%} nearer to simulation's"
        )
        made += [
            _lag(domains, channels, one, abs(one - lag) <= 1, says)
            for one in swept
            if abs(one) < time
        ]
    return made


def _lag(
    domains: Domains, channels: tuple[int, ...], lag: int, estimated: bool, says: str
) -> Proposal:
    where = domains.name(channels)

    word = "late" if lag > 0 else "early"
    return Proposal(
        key=f"lag-{'_'.join(map(str, channels[:6]))}-{lag}",
        title=f"{where}: {abs(lag)} samples {word}",
        kind="lag",
        domain="real",
        family="lag",
        simplicity=SINGLE + (0 if estimated else 5) + (0 if is_sensor(channels) else len(channels)),
        apply=_shifted(channels, lag),
        back=_shifted(channels, -lag),
        where=where,
        lag=lag,
        claims=estimated,
        evidence=(f"{where}: {says}",),
    )


def _shifted(channels: tuple[int, ...], lag: int) -> Apply:
    def apply(values: Values) -> Values:
        made = values.copy()
        places = np.clip(np.arange(values.shape[-1]) + lag, 0, values.shape[-1] - 1)
        for at in channels:
            made[:, at] = values[:, at][:, places]
        return made

    return apply


def _lagging(domains: Domains, most: int) -> list[tuple[float, tuple[int, ...], int]]:
    """List (how much nearer, channels, lag), the most first."""
    pairs = [
        (_correlograms(ours, 2 * most), _correlograms(theirs, 2 * most))
        for ours, theirs in domains.by_class(LEAST_ROWS)
    ]
    count = domains.num_channels
    sets: list[tuple[int, ...]] = [(at,) for at in range(count)]
    if count % 3 == 0 and count > 3:  # noqa: PLR2004
        sets += [(at, at + 1, at + 2) for at in range(0, count, 3)]
    found = []
    for channels in sets:
        others = [at for at in range(count) if at not in channels]
        index = np.ix_(channels, others)
        fits = {
            lag: -_apart([(ours[index], theirs[index]) for ours, theirs in pairs], lag, most)
            for lag in range(-most, most + 1)
        }
        best = max(fits, key=lambda lag: (fits[lag], -abs(lag)))
        gain = 1 - fits[best] / fits[0] if fits[0] < 0 else 0.0
        if best and gain > BETTER and fits[best] - fits[0] > LEAST_NEARER:
            found.append((gain, channels, best))
    return sorted(found, key=lambda one: (-one[0], len(one[1]), one[1]))


def _correlograms(values: Values, most: int) -> Values:
    """Give (channels, channels, lags): mean over rows of x_i(t) x_j(t + lag), scaled."""
    centred = values - values.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    scaled = centred / np.where(size > FLAT, size, np.inf)
    spectrum = np.fft.rfft(scaled, 2 * values.shape[-1], axis=-1)
    crossed = np.einsum("nif,njf->ijf", np.conj(spectrum), spectrum) / len(values)
    every = np.fft.irfft(crossed, axis=-1)
    made: Values = every[..., np.arange(-most, most + 1)]
    return made


def _apart(pairs: list[tuple[Values, Values]], lag: int, most: int) -> float:
    apart = [np.abs(_moved(real, lag, most) - _moved(sim, 0, most)).mean() for sim, real in pairs]
    return float(np.mean(apart))


def _moved(correlograms: Values, lag: int, most: int) -> Values:
    """Give what they are once the first channel is read `lag` samples later: x(t + lag)."""
    # x'(t) = x(t + lag): sum x'(t) y(t + k) = sum x(t) y(t + k - lag).
    middle = correlograms.shape[-1] // 2
    return correlograms[..., middle - lag - most : middle - lag + most + 1]


def held_values(domains: Domains) -> list[Proposal]:
    """Propose channels whose values are held for moments on end: filled in, and made in sim."""
    made = []
    for at in range(domains.num_channels):
        ours, theirs = (_held(side[:, at]).mean() for side in (domains.sim, domains.real))
        alive = float((np.ptp(domains.real[:, at], axis=-1) > 0).mean())
        if theirs - ours < HELD or alive < HELD:
            continue
        says = (
            f"{domains.names[at]} equals the moment before in {theirs:.0%} of the field's moments, "
            f"{ours:.0%} of simulation's"
        )
        shared = {"kind": "stuck_value", "where": domains.names[at], "evidence": (says,)}
        made += [
            Proposal(
                key=f"fill-{at}",
                title=f"{domains.names[at]}: values held (filled in along lines)",
                domain="real",
                family="restore",
                simplicity=SINGLE,
                apply=_filled(at),
                **shared,  # type: ignore[arg-type]
            ),
            Proposal(
                key=f"sim-held-{at}",
                title=f"simulation with {domains.names[at]} held as in the field",
                domain="sim",
                family="reproduce",
                simplicity=SINGLE,
                apply=_hold_alike(domains, at),
                **shared,  # type: ignore[arg-type]
            ),
        ]
    return made


def _held(values: Values) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.diff(values, axis=-1, prepend=np.nan) == 0
    return same


def _filled(at: int) -> Apply:
    def apply(values: Values) -> Values:
        made = values.copy()
        time = np.arange(values.shape[-1])
        for row, same in zip(made, _held(values[:, at]), strict=True):
            row[at] = np.interp(time, time[~same], row[at][~same])
        return made

    return apply


def _hold_alike(domains: Domains, at: int) -> Apply:
    """Hold a simulated row's values where those of a real one are held."""
    patterns = _held(domains.real[:, at])

    def apply(values: Values) -> Values:
        made = values.copy()
        chosen = np.random.default_rng(domains.seed).integers(len(patterns), size=len(values))
        time = np.arange(values.shape[-1])
        for row, pattern in zip(made, patterns[chosen], strict=True):
            row[at] = row[at][np.maximum.accumulate(np.where(pattern, 0, time))]
        return made

    return apply


def filters(domains: Domains) -> list[Proposal]:
    """Propose noise taken off, or what was smoothed sharpened again, and both made in sim."""
    if domains.sim.shape[-1] < LEAST_TIME:
        return []
    rough, smooth = [], []
    ours, theirs = _roughness(domains.sim), _roughness(domains.real)
    z = domains.surely(ours, theirs)
    for at in range(domains.num_channels):
        ratio = float(np.exp(theirs[:, at].mean() - ours[:, at].mean()))
        if ratio > ROUGH and z[at] > 3:  # noqa: PLR2004
            rough.append((at, ratio))
        elif ratio < SMOOTH and z[at] < -3:  # noqa: PLR2004
            smooth.append((at, ratio))
    made = []
    if rough:
        made += _denoised(domains, rough)
    if smooth:
        made += _sharpened(domains, smooth)
    return made


def _roughness(values: Values) -> Values:
    """Give (rows, channels): log of the deviation of second differences over that of values."""
    second = np.diff(values, 2, axis=-1).std(axis=-1)
    whole = values.std(axis=-1)
    flat = whole <= FLAT
    made: Values = np.log(np.maximum(second, 1e-9) / np.where(flat, 1.0, whole))
    made[flat] = 0.0
    return made


def _says(domains: Domains, found: list[tuple[int, float]]) -> tuple[str, ...]:
    return tuple(
        f"{domains.names[at]}: {ratio:.2g} times as rough from moment to moment as in simulation"
        for at, ratio in found[:4]
    )


def _power(values: Values) -> Values:
    """Give (channels, frequencies), the mean over rows, means taken off."""
    centred = values - values.mean(axis=-1, keepdims=True)
    made: Values = (np.abs(np.fft.rfft(centred, axis=-1)) ** 2).mean(axis=0)
    return made


def _gained(channels: tuple[int, ...], gain: Values) -> Apply:
    """Multiply the spectrum of each channel; `gain` is (channels, frequencies)."""

    def apply(values: Values) -> Values:
        made = values.copy()
        chosen = list(channels)
        means = values[:, chosen].mean(axis=-1, keepdims=True)
        spectrum = np.fft.rfft(values[:, chosen] - means, axis=-1) * gain[chosen]
        made[:, chosen] = np.fft.irfft(spectrum, values.shape[-1], axis=-1) + means
        return made

    return apply


def _smoothed(power: Values) -> Values:
    """Average neighbouring frequencies: single lines are noisy."""
    made = power.copy()
    made[:, 1:-1] = (power[:, :-2] + power[:, 1:-1] + power[:, 2:]) / 3
    return made


def _denoised(domains: Domains, found: list[tuple[int, float]]) -> list[Proposal]:
    channels = tuple(at for at, _ in found)
    ours, theirs = _smoothed(_power(domains.sim)), _smoothed(_power(domains.real))
    slow = max(2, ours.shape[1] // 4)
    level = (theirs[:, :slow].sum(axis=1) + 1e-12) / (ours[:, :slow].sum(axis=1) + 1e-12)
    gain = np.clip(level[:, None] * ours / np.maximum(theirs, 1e-12), 0, 1)
    excess = np.maximum(0, theirs - level[:, None] * ours)
    time = domains.sim.shape[-1]

    def noised(values: Values) -> Values:
        made = values.copy()
        white = np.random.default_rng(domains.seed).normal(size=values[:, list(channels)].shape)
        spectrum = np.fft.rfft(white, axis=-1) * np.sqrt(excess[list(channels)] / time)
        made[:, list(channels)] += np.fft.irfft(spectrum, time, axis=-1)
        return made

    shared = {
        "kind": "sensor_noise",
        "where": domains.name(channels),
        "evidence": _says(domains, found),
    }
    where = domains.name(channels)
    return [
        Proposal(
            key="denoise-wiener",
            title=f"{where}: noise (filtered to simulation's spectrum)",
            domain="real",
            family="restore",
            simplicity=FITTED,
            apply=_gained(channels, gain),
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="denoise-median",
            title=f"{where}: noise (median of five moments)",
            domain="real",
            family="restore",
            simplicity=FITTED + 1,
            apply=_median(channels),
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="sim-noise",
            title=f"simulation with the field's noise ({where})",
            domain="sim",
            family="reproduce",
            simplicity=PLAIN,
            apply=noised,
            **shared,  # type: ignore[arg-type]
        ),
    ]


def _median(channels: tuple[int, ...], width: int = 5) -> Apply:
    def apply(values: Values) -> Values:
        made = values.copy()
        half = width // 2
        padded = np.pad(values[:, list(channels)], ((0, 0), (0, 0), (half, half)), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=-1)
        made[:, list(channels)] = np.median(windows, axis=-1)
        return made

    return apply


def _sharpened(domains: Domains, found: list[tuple[int, float]]) -> list[Proposal]:
    channels = tuple(at for at, _ in found)
    ours, theirs = _smoothed(_power(domains.sim)), _smoothed(_power(domains.real))
    slow = max(2, ours.shape[1] // 8)
    level = (theirs[:, :slow].sum(axis=1) + 1e-12) / (ours[:, :slow].sum(axis=1) + 1e-12)
    ratio = level[:, None] * ours / np.maximum(theirs, 1e-12)
    where = domains.name(channels)
    shared = {"kind": "blur", "where": where, "evidence": _says(domains, found)}
    return [
        Proposal(
            key="sharpen",
            title=f"{where}: smoothed (spectrum matched to simulation's)",
            domain="real",
            family="restore",
            simplicity=FILTERED,
            apply=_gained(channels, np.clip(np.sqrt(ratio), 1, 5)),
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key="sim-blur",
            title=f"simulation smoothed as the field is ({where})",
            domain="sim",
            family="reproduce",
            simplicity=PLAIN,
            apply=_gained(channels, np.clip(np.sqrt(1 / np.maximum(ratio, 1e-12)), 0, 1)),
            **shared,  # type: ignore[arg-type]
        ),
    ]
