"""All alterations that are worth a try for two sets of input tensors, the cheap ones first."""

from dataclasses import replace

from assay import (
    alter_burnt,
    alter_channels,
    alter_detail,
    alter_light,
    alter_orders,
    alter_pictures,
    alter_signals,
    alter_statistics,
)
from assay.alterations import Proposal
from assay.domains import Domains

FADED = 16  # in simplicity
TRANSPLANTED = 3  # channels


def propose(domains: Domains, most: int, most_ablated: int = 12) -> tuple[list[Proposal], int]:
    """List at most `most` claims about the field, and what is done to both domains beside them.

    Returns:
        The proposals, those that are left out counted.
    """
    made = _of_kind(domains)
    claims = [one for one in made if one.domain == "real"]
    claims.sort(key=lambda one: one.simplicity)
    kept = claims[:most]
    tried = {one.kind for one in kept}
    matched = [one for one in made if one.domain == "sim" and one.kind in tried]
    if domains.kind != "pictures":
        matched += [made_so for one in kept if (made_so := alter_channels.made_in_sim(one))]
    ablated = alter_channels.ablations(domains, most_ablated)
    apart = list(dict.fromkeys([*domains.moved, *domains.widened]))[:TRANSPLANTED]
    moved = alter_channels.transplants(domains, apart) if domains.kind != "pictures" else []
    return [*kept, *matched, *ablated, *moved], len(claims) - len(kept)


def _less_plain(one: Proposal) -> Proposal:
    """Let a scale stand behind noise, where columns go less together than in simulation."""
    scale = one.domain == "real" and one.kind == "channel_scale"
    return replace(one, simplicity=one.simplicity + FADED) if scale else one


def as_burnt(domains: Domains, burnt: list[Proposal]) -> Domains:
    """Let simulation be burnt out as the field is: what white takes of the detail is no blur."""
    made_so = next((one for one in burnt if one.domain == "sim"), None)
    return replace(domains, sim=made_so.apply(domains.sim)) if made_so else domains


def _of_kind(domains: Domains) -> list[Proposal]:
    lost = alter_channels.lost_values(domains)
    orders = alter_orders.exchanges(domains)
    if domains.kind == "pictures":
        burnt = alter_burnt.burnt(domains)
        return [
            *lost,
            *alter_pictures.turns(domains),
            alter_pictures.inverted(domains),
            *alter_light.light(domains),
            *burnt,
            *alter_pictures.colour(domains),
            *alter_detail.detail(as_burnt(domains, burnt)),
            *orders,
        ]
    common = [
        *lost,
        *alter_statistics.statistics(domains),
        *alter_statistics.made_alike(domains),
        *orders,
        *alter_orders.scaled_exchanges(domains),
    ]
    if domains.kind == "table":
        noise = alter_channels.table_noise(domains)
        return [*(_less_plain(one) if noise else one for one in common), *noise]
    return [
        *common,
        *alter_signals.held_values(domains),
        *alter_signals.lags(domains),
        *alter_signals.filters(domains),
    ]
