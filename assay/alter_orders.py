"""Channels in another order: sensors in each other's sockets, columns in each other's places."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from assay.alterations import SINGLE, Proposal
from assay.domains import Domains
from assay.tensor_axes import Values

MOST = 32  # channels among which exchanges are looked for
EVERY = 4  # channels of which every exchange is tried
TRIED = 3  # exchanges beyond that
SHAPED = 0.1  # of the distance of shapes that an exchange has to remove
LEAST_GAIN = 0.02  # the same, of values


def exchanges(domains: Domains) -> list[Proposal]:
    """Propose channels in another order: all orders of few, else those that fit better."""
    count = domains.num_channels
    if not 1 < count <= MOST:
        return []
    if count <= EVERY:
        orders = [tuple(order) for order in permutations(range(count))][1:]
        return [_order(domains, order) for order in sorted(orders, key=_num_moved)][:11]
    distances, correlations = _distances(domains)
    whole = _cost(distances, correlations, np.arange(count))
    found = []
    for one, two in combinations(range(count), 2):
        order = np.arange(count)
        order[[one, two]] = two, one
        found.append((_cost(distances, correlations, order), tuple(int(at) for at in order)))
    best = [order for cost, order in sorted(found) if cost < (1 - LEAST_GAIN) * whole][:TRIED]
    assigned = _assigned(distances)
    if assigned not in best and _num_moved(assigned) > 2:  # noqa: PLR2004
        cost = _cost(distances, correlations, np.array(assigned))
        best += [assigned] if cost < (1 - LEAST_GAIN) * whole else []
    return [_order(domains, order) for order in best]


def scaled_exchanges(domains: Domains) -> list[Proposal]:
    """Propose two channels exchanged before what scales them: each then has the other's constants.

    Shapes of distributions and correlations, which no scale changes, have to say so.
    """
    count = domains.num_channels
    if not 1 < count <= MOST or domains.kind == "pictures":
        return []
    (ours, theirs), (narrow, wide) = domains.means, domains.deviations
    alive = np.maximum(wide, 1e-12 * (1 + np.abs(theirs)))
    low, high = domains.quantiles
    shapes = [(low - ours[:, None]) / np.maximum(narrow, 1e-12)[:, None]]
    shapes.append((high - theirs[:, None]) / alive[:, None])
    distances = np.minimum(np.abs(shapes[1][:, None] - shapes[0][None]).mean(axis=2), 10.0)
    correlations = domains.correlations
    whole = _cost(distances, correlations, np.arange(count))
    found = []
    for one, two in combinations(range(count), 2):
        order = np.arange(count)
        order[[one, two]] = two, one
        cost = _cost(distances, correlations, order)
        if cost < (1 - SHAPED) * whole:
            found.append((cost, _order(domains, tuple(int(at) for at in order))))
    found.sort(key=lambda one: one[0])
    return [_scaled(domains, one) for _, one in found[:2]]


def _scaled(domains: Domains, exchange: Proposal) -> Proposal:
    """Bring the channels, once they are back, to simulation's mean and deviation."""
    ours, narrow = domains.means[0], domains.deviations[0]
    back = exchange.apply(domains.real)
    flat = back.reshape(len(back), domains.num_channels, -1)
    theirs, wide = flat.mean(axis=(0, 2)), flat.std(axis=(0, 2))
    moved = [at for at in range(domains.num_channels) if theirs[at] != domains.means[1][at]]

    def apply(values: Values) -> Values:
        made = exchange.apply(values)
        for at in moved:
            slope = narrow[at] / max(wide[at], 1e-12)
            made[:, at] = (made[:, at] - theirs[at]) * slope + ours[at]
        return made

    return replace(
        exchange,
        key=f"{exchange.key}-scaled",
        title=f"{exchange.title}, and then scaled as the other",
        simplicity=exchange.simplicity + 6,
        apply=apply,
        back=None,
        evidence=("Exchanged, distributions and correlations have simulation's shapes.",),
    )


def _num_moved(order: tuple[int, ...]) -> int:
    return sum(at != place for place, at in enumerate(order))


def _distances(domains: Domains) -> tuple[Values, tuple[Values, Values]]:
    """Give how far real channel i lies from simulated channel j, and both sides' correlations."""
    ours, theirs = domains.quantiles
    spread = np.maximum(domains.deviations[0], 1e-12)
    distances = np.abs(theirs[:, None] - ours[None]).mean(axis=2) / spread[None]
    return np.minimum(distances, 10.0), domains.correlations


def _cost(distances: Values, correlations: tuple[Values, Values], order: NDArray[np.intp]) -> float:
    """Say how unlike simulation the field is when its channel order[j] stands at j."""
    ours, theirs = correlations
    apart = np.abs(theirs[np.ix_(order, order)] - ours)
    return float(distances[order, np.arange(len(order))].sum() + apart.sum() / 2)


def _assigned(distances: Values) -> tuple[int, ...]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(distances)
    order = np.empty(len(rows), dtype=int)
    order[columns] = rows
    return tuple(int(at) for at in order)


def _order(domains: Domains, order: tuple[int, ...]) -> Proposal:
    moved = [at for place, at in enumerate(order) if at != place]
    names = [domains.names[at] for at in sorted(moved)]
    pair = len(moved) == 2  # noqa: PLR2004
    word = " and ".join(names) if pair else ", ".join(names[:6])
    title = f"{word}: exchanged" if pair else f"{word}: in another order"
    index = np.array(order)
    return Proposal(
        key="order-" + "_".join(map(str, order[:12])),
        title=title,
        kind="swapped_channel",
        domain="real",
        family="rearrange",
        simplicity=SINGLE + 2 * (len(moved) - 2),
        apply=lambda values: np.ascontiguousarray(values[:, index]),
        back=lambda values: np.ascontiguousarray(values[:, np.argsort(index)]),
        where=domains.name(tuple(sorted(moved))),
    )
