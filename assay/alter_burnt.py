"""Pictures' light that went beyond white: what is cut off there nothing brings back.

Means tell too small a gain, as white rises no further. So the gain is that which, cut off at
simulation's white, gives the field's quantiles; what it costs shows where simulation is made so.
"""

import numpy as np

from assay.alter_light import about
from assay.alterations import BURNT, PLAIN, SINGLE, Curve, Proposal, curved
from assay.domains import Domains
from assay.tensor_axes import Values

WHITE = 0.98  # of the range from simulation's black to its white
MORE = 0.1  # of the places, beyond simulation's share, are white
GAINS = np.geomspace(1.1, 12, 48)
FITS = 0.5  # of the distance of the quantiles, at most, may be left


def burnt(domains: Domains) -> list[Proposal]:
    """Propose more light than the sensor can tell, where much more of the field is white."""
    low, high = (domains.sim.min(axis=_places(domains)), domains.sim.max(axis=_places(domains)))
    span = np.maximum(high - low, 1e-12)
    ours, theirs = (
        np.clip((one - low[:, None]) / span[:, None], 0, 1) for one in domains.quantiles
    )
    shares = [_white(side, low, span) for side in (domains.sim, domains.real)]
    if (shares[1] - shares[0] < MORE).any():
        return []
    left = [float(np.abs(np.minimum(gain * ours, 1) - theirs).mean()) for gain in GAINS]
    if min(left) > FITS * float(np.abs(ours - theirs).mean()):
        return []
    gain = float(GAINS[int(np.argmin(left))])
    says = (
        f"{shares[1].mean():.0%} of the field is white, {shares[0].mean():.0%} of simulation: "
        f"{gain:.2g} times the light, cut off at white, gives the field's distribution"
    )
    darker: dict[int, Curve] = {at: about(float(low[at]), 1 / gain) for at in range(len(low))}
    cut = {at: _cut(float(low[at]), float(high[at]), gain) for at in range(len(low))}
    return [
        Proposal(
            key="burnt",
            title=f"the exposure ({gain:.2g} times the light, cut off at white)",
            kind="exposure",
            domain="real",
            family="align",
            simplicity=SINGLE,
            apply=curved(darker),
            evidence=(says,),
        ),
        Proposal(
            key=BURNT,
            title=f"simulation with {gain:.2g} times the light, cut off at white",
            kind="exposure",
            domain="sim",
            family="reproduce",
            simplicity=PLAIN,
            apply=curved(cut),
            evidence=(says,),
            makes="burnt",
        ),
    ]


def _places(domains: Domains) -> tuple[int, ...]:
    return (0, *range(2, domains.sim.ndim))


def _white(values: Values, low: Values, span: Values) -> Values:
    """Give each channel's share of white places."""
    flat = values.reshape(len(values), len(low), -1)
    made: Values = (flat >= (low + WHITE * span)[:, None]).mean(axis=(0, 2))
    return made


def _cut(black: float, white: float, gain: float) -> Curve:
    brighter = about(black, gain)
    return lambda values: np.minimum(brighter(values), white)
