"""Statistics of channels and columns brought to simulation's: offset, unit, both, distribution."""

from dataclasses import replace

import numpy as np

from assay.alterations import (
    FITTED,
    MATCHED,
    PLAIN,
    SINGLE,
    Curve,
    Proposal,
    channel_sets,
    curved,
    misfit,
    plainness,
    snapped,
    straight,
    through,
)
from assay.domains import Domains

NAMED = 6  # channels in a key
FEW = 8  # channels that are each tried inverted
UNEXPLAINED = 8  # in simplicity
UNIT = 0.7  # in the logarithm of a ratio: a factor of two


def statistics(domains: Domains) -> list[Proposal]:
    """Propose for signals and tables; pictures have light and colour instead."""
    alive = [at for at in range(domains.num_channels) if domains.deviations[1][at] > _dead(domains)]
    moved = [at for at in domains.moved if at in alive]
    widened = [at for at in domains.widened if at in alive]
    either = sorted(set(moved) | set(widened))
    made = [_offset(domains, it) for it in _sets(domains, moved)]
    for channels in _sets(domains, widened):
        made += _scales(domains, channels)
    for channels in _sets(domains, _by_distance(domains, either)):
        made += [_standardised(domains, channels), _matched(domains, channels)]
    flips = alive if len(alive) <= FEW else either[:FEW]
    made += [_inverted(domains, at) for at in flips]
    return made


def _sets(domains: Domains, order: list[int]) -> list[tuple[int, ...]]:
    return channel_sets(order, domains.num_channels, sensors=domains.kind == "signals")


def made_alike(domains: Domains) -> list[Proposal]:
    """Propose simulation with the field's offsets, deviations and distributions."""
    (ours, theirs), (narrow, wide) = domains.means, domains.deviations
    made = []
    if domains.moved:
        channels = tuple(sorted(domains.moved))
        curves = {at: straight(1, float(theirs[at] - ours[at])) for at in channels}
        made.append(_sim("offset", "the field's offsets", "channel_offset", domains, curves))
    if domains.widened:
        ratios = {at: float(wide[at] / max(narrow[at], 1e-12)) for at in sorted(domains.widened)}
        curves = {
            at: straight(ratio, float(theirs[at] - ratio * ours[at]))
            for at, ratio in ratios.items()
        }
        title = "the field's means and deviations"
        made.append(_sim("scale", title, "channel_scale", domains, curves))
    either = tuple(sorted({*domains.moved, *domains.widened}))
    if either:
        low, high = domains.quantiles
        curves = {at: through(low[at], high[at]) for at in either}
        title = "the field's distributions"
        made.append(_sim("histogram", title, "channel_scale", domains, curves))
    return made


def _sim(key: str, title: str, kind: str, domains: Domains, curves: dict[int, Curve]) -> Proposal:
    where = domains.name(tuple(curves))
    return Proposal(
        key=f"sim-{key}",
        title=f"simulation with {title} ({where})",
        kind=kind,
        domain="sim",
        family="reproduce",
        simplicity=PLAIN,
        apply=curved(curves),
        where=where,
    )


def _dead(domains: Domains) -> float:
    return 1e-6 * float(domains.deviations[0].max() + 1e-12)


def _by_distance(domains: Domains, channels: list[int]) -> list[int]:
    distance = np.abs(domains.shift) + np.abs(domains.widening)
    return sorted(channels, key=lambda at: -float(distance[at]))


def _mark(channels: tuple[int, ...], num_channels: int) -> str:
    if len(channels) == num_channels:
        return "all"
    more = len(channels) - NAMED
    return "_".join(map(str, channels[:NAMED])) + (f"_and_{more}" if more > 0 else "")


def _real(
    domains: Domains,
    key: str,
    title: str,
    kind: str,
    curves: dict[int, Curve],
    *,
    base: int,
    evidence: tuple[str, ...],
) -> Proposal:
    channels = tuple(curves)
    where = domains.name(channels)
    return Proposal(
        key=f"{key}-{_mark(channels, domains.num_channels)}",
        title=f"{where}: {title}",
        kind=kind,
        domain="real",
        family="align",
        simplicity=plainness(
            base, channels, misfit(domains, channels, curves), sensors=domains.kind == "signals"
        )
        + _unexplained(domains, key, channels),
        apply=curved(curves),
        where=where,
        evidence=evidence,
    )


def _unexplained(domains: Domains, key: str, channels: tuple[int, ...]) -> int:
    """Say how much simpler others are: which explain the other axes, or the turned sign, too."""
    if key == "inverted":
        return 0
    signs = any(at in domains.flipped for at in channels)
    return UNEXPLAINED * (_left_out(domains, channels) + signs)


def _left_out(domains: Domains, channels: tuple[int, ...]) -> int:
    """Count the channels of the same sensor that moved too: one cause would have moved all."""
    if domains.kind != "signals" or domains.num_channels % 3:
        return 0
    sensors = {at // 3 for at in channels}
    return sum(at // 3 in sensors and at not in channels for at in domains.moved)


def _offset(domains: Domains, channels: tuple[int, ...]) -> Proposal:
    ours, theirs = domains.means
    curves = {at: straight(1, float(ours[at] - theirs[at])) for at in channels}
    evidence = tuple(_means(domains, at) for at in channels[:4])
    return _real(
        domains,
        "offset",
        "an offset",
        "channel_offset",
        curves,
        base=SINGLE,
        evidence=evidence,
    )


def _means(domains: Domains, at: int) -> str:
    ours, theirs = domains.means
    spread = float(domains.deviations[0][at])
    return (
        f"{domains.names[at]}: mean {ours[at]:.3g} in simulation, {theirs[at]:.3g} in the field "
        f"({abs(domains.shift[at]):.2g} of its deviation there, {spread:.3g})"
    )


def _spreads(domains: Domains, at: int) -> str:
    ours, theirs = domains.deviations
    name = domains.names[at]
    return f"{name}: deviation {ours[at]:.3g} in simulation, {theirs[at]:.3g} in the field"


def _scales(domains: Domains, channels: tuple[int, ...]) -> list[Proposal]:
    """Propose one factor about zero, a known one where it is near."""
    if any(domains.deviations[0][at] <= 0 for at in channels):
        return []
    widths = [float(domains.widening[at]) for at in channels]
    curves, names = {}, []
    for at, width in zip(channels, widths, strict=True):
        ratio, name = snapped(float(np.exp(width)))
        curves[at] = straight(1 / ratio, 0.0)
        names.append(name or f"{ratio:.2g}")
    one = names[0] if len(set(names)) == 1 else "each another,"
    evidence = tuple(_spreads(domains, at) for at in channels[:4])
    return [
        _real(
            domains,
            "scale",
            f"a scale, {one} times simulation's",
            "channel_scale",
            curves,
            base=SINGLE + 1,
            evidence=evidence,
        )
    ]


def _standardised(domains: Domains, channels: tuple[int, ...]) -> Proposal:
    (ours, theirs), (narrow, wide) = domains.means, domains.deviations
    curves = {}
    for at in channels:
        slope = float(narrow[at] / max(wide[at], 1e-12))
        curves[at] = straight(slope, float(ours[at] - slope * theirs[at]))
    scaled = max(abs(float(domains.widening[at])) for at in channels) > max(
        abs(float(domains.shift[at])) for at in channels
    ) or any(abs(float(domains.widening[at])) > UNIT for at in channels)
    evidence = tuple(_means(domains, at) for at in channels[:2])
    evidence += tuple(_spreads(domains, at) for at in channels[:2])
    return _real(
        domains,
        "standardise",
        "mean and deviation",
        "channel_scale" if scaled else "channel_offset",
        curves,
        base=FITTED,
        evidence=evidence,
    )


def _matched(domains: Domains, channels: tuple[int, ...]) -> Proposal:
    ours, theirs = domains.quantiles
    curves = {at: through(theirs[at], ours[at]) for at in channels}
    return _real(
        domains,
        "histogram",
        "the distribution of values",
        "sim_to_real_gap",  # no constant does it: other things are seen
        curves,
        base=MATCHED,
        evidence=tuple(_means(domains, at) for at in channels[:2]),
    )


def _inverted(domains: Domains, at: int) -> Proposal:
    ours, theirs = domains.means
    seen = at in domains.flipped
    says = f"{domains.names[at]} goes with the others as in simulation once its sign is turned"
    evidence = (says,) if seen else ()
    curves = {at: straight(-1, float(ours[at] + theirs[at]))}
    made = _real(
        domains,
        "inverted",
        "the sign inverted",
        "inverted",
        curves,
        base=SINGLE if seen else SINGLE + 6,
        evidence=evidence,
    )
    return replace(made, back=made.apply)  # it is its own inverse
