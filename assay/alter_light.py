"""Pictures' light: exposure, contrast and gamma, of all pictures or of each."""

from dataclasses import dataclass

import numpy as np

from assay.alterations import (
    FITTED,
    MATCHED,
    MISFIT,
    PLAIN,
    SINGLE,
    Curve,
    Proposal,
    curved,
    misfit,
    straight,
    through,
)
from assay.domains import Domains
from assay.tensor_axes import Values

GAMMAS = (1 / 2.4, 1 / 2.2, 0.5, 2.0, 2.2, 2.4, 2.2 / 2.4, 2.4 / 2.2)
GAMMA_SNAP = 0.03
LEAST_GAMMA = 0.05  # in the logarithm
INSIDE = (0.02, 0.98)  # of the range: quantiles that show a gamma
MOST_GAMMA = 10.0
LEAST_LEVELS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """How light the domains are, over all channels."""

    ours: float
    theirs: float
    narrow: float
    wide: float
    black: float
    white: float
    gamma: float | None

    @property
    def factor(self) -> float:
        """What brings the field's light to simulation's, black staying black."""
        return (self.ours - self.black) / max(self.theirs - self.black, 1e-9)

    @property
    def slope(self) -> float:
        """What brings the field's contrast to simulation's."""
        return self.narrow / max(self.wide, 1e-9)

    @property
    def says(self) -> tuple[str, ...]:
        """Say it for people."""
        means = f"mean {self.ours:.3g} in simulation, {self.theirs:.3g} in the field"
        return (f"{means}; contrast {self.narrow:.3g} and {self.wide:.3g}",)


def light(domains: Domains) -> list[Proposal]:
    """Propose one light for all channels: added, multiplied, a gamma, the contrast; by picture."""
    if not (domains.moved or domains.widened):
        return []
    black, white = float(domains.sim.min()), float(domains.sim.max())
    seen = Light(
        ours=float(domains.sim.mean()),
        theirs=float(domains.real.mean()),
        narrow=float(domains.sim.std()),
        wide=float(domains.real.std()),
        black=black,
        white=white,
        gamma=_gamma(domains, black, white),
    )
    made = [_all(domains, one, seen) for one in _curves(domains, seen)]
    return made + _by_picture(domains, seen) + _made_so(domains, seen)


Named = tuple[str, str, str, int, Curve]  # key, title, kind, how plain, what it does


def _curves(domains: Domains, seen: Light) -> list[Named]:
    ours, theirs, slope = seen.ours, seen.theirs, seen.slope
    apart = abs(ours - theirs) / max(seen.narrow, 1e-9)
    both = "contrast" if abs(np.log(slope)) > apart else "exposure"
    lit = f"the exposure ({1 / seen.factor:.2g} times the light)"
    flat = f"the contrast ({1 / slope:.2g} times)"
    made: list[Named] = [
        ("brighter", "the exposure (light added)", "exposure", SINGLE, straight(1, ours - theirs)),
        ("exposed", lit, "exposure", SINGLE, about(seen.black, seen.factor)),
        ("contrast", flat, "contrast", SINGLE + 1, about(theirs, slope)),
        ("affine", "light and contrast", both, PLAIN, straight(slope, ours - slope * theirs)),
        ("histogram", "the distribution of light", "exposure", MATCHED, _pooled_curve(domains)),
    ]
    if seen.gamma is not None:
        curve = _gamma_curve(seen.black, seen.white, seen.gamma)
        title = f"a gamma of {1 / seen.gamma:.3g}"
        made.append(("gamma", title, "exposure", SINGLE + 2, curve))
    return made


def about(level: float, factor: float) -> Curve:
    """Multiply, one level staying where it is."""
    return lambda values: level + (values - level) * factor


def _all(domains: Domains, named: Named, seen: Light) -> Proposal:
    key, title, kind, plain, curve = named
    every = tuple(range(domains.num_channels))
    curves = dict.fromkeys(every, curve)
    return Proposal(
        key=key,
        title=title,
        kind=kind,
        domain="real",
        family="align",
        simplicity=plain + round(MISFIT * min(1.5, misfit(domains, every, curves))),
        apply=curved(curves),
        evidence=seen.says,
    )


def _pooled(domains: Domains) -> tuple[Values, Values]:
    ours, theirs = domains.quantiles
    return ours.mean(axis=0), theirs.mean(axis=0)


def _pooled_curve(domains: Domains) -> Curve:
    ours, theirs = _pooled(domains)
    return through(theirs, ours)


def _gamma(domains: Domains, black: float, white: float) -> float | None:
    """Fit the exponent that takes the field's quantiles to simulation's, a known one if near."""
    ours, theirs = (np.clip((one - black) / (white - black), 0, 1) for one in _pooled(domains))
    low, high = INSIDE
    inside = (ours > low) & (ours < high) & (theirs > low) & (theirs < high)
    if inside.sum() < LEAST_LEVELS:
        return None
    gamma = float(np.median(np.log(ours[inside]) / np.log(theirs[inside])))
    if not 1 / MOST_GAMMA < gamma < MOST_GAMMA or abs(np.log(gamma)) < LEAST_GAMMA:
        return None
    near = min(GAMMAS, key=lambda one: abs(np.log(gamma / one)))
    return near if abs(np.log(gamma / near)) <= GAMMA_SNAP else gamma


def _gamma_curve(black: float, white: float, gamma: float) -> Curve:
    def curve(values: Values) -> Values:
        share = np.clip((values - black) / (white - black), 0, None)
        made: Values = black + (white - black) * share**gamma
        return made

    return curve


def _by_picture(domains: Domains, seen: Light) -> list[Proposal]:
    """Propose each picture brought to simulation's mean, and to its contrast too."""
    wanted = [float(own(domains.sim)[at].mean()) for at in (0, 1)]

    def lit(values: Values) -> Values:
        return values - own(values)[0] + wanted[0]

    def even(values: Values) -> Values:
        mean, deviation = own(values)
        return (values - mean) / np.maximum(deviation, 1e-9) * wanted[1] + wanted[0]

    return [
        Proposal(
            key="each-light",
            title="the exposure of each picture",
            kind="exposure",
            domain="real",
            family="align",
            simplicity=FITTED + 5,
            apply=lit,
            evidence=seen.says,
        ),
        Proposal(
            key="each-contrast",
            title="light and contrast of each picture",
            kind="contrast",
            domain="real",
            family="align",
            simplicity=FITTED + 8,
            apply=even,
            evidence=seen.says,
        ),
    ]


def own(values: Values) -> tuple[Values, Values]:
    """Give each picture's mean and deviation, shaped to be taken off."""
    axes = tuple(range(1, values.ndim))
    return values.mean(axis=axes, keepdims=True), values.std(axis=axes, keepdims=True)


def _made_so(domains: Domains, seen: Light) -> list[Proposal]:
    """Propose simulation with the field's light."""
    slope = 1 / seen.slope
    curves: list[Named] = [
        ("exposed", "exposure", "exposure", PLAIN, about(seen.black, 1 / seen.factor)),
        (
            "contrast",
            "contrast",
            "contrast",
            PLAIN,
            straight(slope, seen.theirs - slope * seen.ours),
        ),
    ]
    if seen.gamma is not None:
        curve = _gamma_curve(seen.black, seen.white, 1 / seen.gamma)
        curves.append(("gamma", "gamma", "exposure", PLAIN, curve))
    every = range(domains.num_channels)
    return [
        Proposal(
            key=f"sim-{key}",
            title=f"simulation with the field's {word}",
            kind=kind,
            domain="sim",
            family="reproduce",
            simplicity=plain,
            apply=curved(dict.fromkeys(every, curve)),
            evidence=seen.says,
        )
        for key, word, kind, plain, curve in curves
    ]
