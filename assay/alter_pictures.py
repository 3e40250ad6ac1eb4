"""Pictures: which way up, light for dark, which colours; see `alter_light` and `alter_detail`."""

import numpy as np

from assay.alter_light import about
from assay.alterations import (
    MATCHED,
    MISFIT,
    PLAIN,
    SINGLE,
    Apply,
    Curve,
    Proposal,
    curved,
    misfit,
    straight,
    through,
)
from assay.domains import Domains
from assay.tensor_axes import Values

TURNS = {
    "rot90": "turned by 90°",
    "rot180": "turned by 180°",
    "rot270": "turned by 270°",
    "mirror": "mirrored left to right",
    "upside": "mirrored top to bottom",
    "transpose": "rows and columns exchanged",
    "antitranspose": "rows and columns exchanged and turned by 180°",
}
COLOURS = 3  # channels at least
COLOURED = 0.1  # deviations by which a channel's mean moved against the others'
SURE = 3.0  # standard errors


def turned(values: Values, name: str) -> Values:
    """Turn pictures back by a name of `TURNS`: of what was turned so, the upright one."""
    made = {
        "rot90": lambda: np.rot90(values, -1, (-2, -1)),
        "rot180": lambda: np.rot90(values, 2, (-2, -1)),
        "rot270": lambda: np.rot90(values, 1, (-2, -1)),
        "mirror": lambda: values[..., ::-1],
        "upside": lambda: values[..., ::-1, :],
        "transpose": lambda: np.swapaxes(values, -2, -1),
        "antitranspose": lambda: np.swapaxes(values, -2, -1)[..., ::-1, ::-1],
    }[name]()
    return np.ascontiguousarray(made)


def turns(domains: Domains) -> list[Proposal]:
    """Propose the turns that keep the shape."""
    square = domains.sim.shape[-1] == domains.sim.shape[-2]
    names = TURNS if square else ("rot180", "mirror", "upside")
    return [
        Proposal(
            key=f"turn-{name}",
            title=f"the picture is {TURNS[name]}",
            kind="turned",
            domain="real",
            family="rearrange",
            simplicity=SINGLE + at,
            apply=_turn(name),
        )
        for at, name in enumerate(names)
    ]


def _turn(name: str) -> Apply:
    return lambda values: turned(values, name)


def inverted(domains: Domains) -> Proposal:
    """Propose light for dark, within simulation's range."""
    every = tuple(range(domains.num_channels))
    middle = float(domains.sim.min() + domains.sim.max())
    curves = {at: straight(-1, middle) for at in every}
    return Proposal(
        key="inverted",
        title="light and dark are exchanged",
        kind="inverted",
        domain="real",
        family="align",
        simplicity=SINGLE + round(10 * min(1.5, misfit(domains, every, curves))),
        apply=curved(curves),
    )


def colour(domains: Domains) -> list[Proposal]:
    """Propose each channel's own offset, factor or distribution, where channels moved apart."""
    ours, theirs = domains.means
    cast = _moved_apart(domains)
    if not cast:
        return []
    says = tuple(
        f"{domains.names[at]}: mean {ours[at]:.3g} in simulation, {theirs[at]:.3g} in the field"
        for at in cast
    )
    low, high = domains.quantiles
    added, gains, matched, back = {}, {}, {}, {}
    for at in range(domains.num_channels):
        black = float(domains.sim[:, at].min())
        factor = float((ours[at] - black) / max(theirs[at] - black, 1e-9))
        added[at] = straight(1, float(ours[at] - theirs[at]))
        gains[at] = about(black, factor)
        matched[at] = through(high[at], low[at])
        back[at] = about(black, 1 / max(factor, 1e-9))
    named: list[tuple[str, str, int, dict[int, Curve]]] = [
        ("cast-added", "a colour cast (added)", SINGLE + 1, added),
        ("cast-gains", "a colour cast (white balance)", SINGLE + 1, gains),
        ("colours", "the distribution of each colour", MATCHED + 1, matched),
    ]
    made = [
        Proposal(
            key=key,
            title=title,
            kind="colour",
            domain="real",
            family="align",
            simplicity=plain + round(MISFIT * min(1.5, misfit(domains, tuple(curves), curves))),
            apply=curved(curves),
            evidence=says,
        )
        for key, title, plain, curves in named
    ]
    made.append(
        Proposal(
            key="sim-cast",
            title="simulation with the field's colour cast",
            kind="colour",
            domain="sim",
            family="reproduce",
            simplicity=PLAIN,
            apply=curved(back),
            evidence=says,
        )
    )
    return made


def _moved_apart(domains: Domains) -> list[int]:
    """List the channels whose mean moved against the mean of all."""
    if domains.num_channels < COLOURS:
        return []
    ours, theirs = domains.means
    own = [
        side.reshape(len(side), domains.num_channels, -1).mean(axis=2)
        - side.reshape(len(side), -1).mean(axis=1)[:, None]
        for side in (domains.sim, domains.real)
    ]
    apart = (theirs - theirs.mean() - ours + ours.mean()) / float(domains.sim.std())
    far = (np.abs(apart) > COLOURED) & (np.abs(domains.surely(*own)) > SURE)
    return [int(at) for at in np.flatnonzero(far)]
