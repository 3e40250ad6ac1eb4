"""Channels as wholes: dead, stuck, noisy, set to simulation's mean, taken from simulation."""

import numpy as np

from assay.alterations import FITTED, PLAIN, SINGLE, WHOLE, Apply, Domain, Proposal
from assay.domains import MOVED, Domains
from assay.tensor_axes import Values

MOST = 32  # columns that are cleaned of noise together
GONE = 0.2  # share of rows, or of moments, beyond simulation's
CONSTANT = 1e-6  # of simulation's deviation
# Of the deviation within a row: a file that lost a colour still has the noise of its compression.
FLAT = {"pictures": 0.12, "signals": 0.01, "table": CONSTANT}
WHOLLY = 0.95
ALIVE = 0.5  # of simulation's deviation
ONE_VALUE = 0.25  # of simulation's deviation: flat pictures whose levels spread wider are not dead
BOTH: tuple[Domain, Domain] = ("sim", "real")


def made_in_sim(claim: Proposal) -> Proposal | None:
    """Turn what puts channels right into what puts simulation wrong in the same way."""
    if claim.back is None or not claim.claims:
        return None
    return Proposal(
        key=f"sim-{claim.key}",
        title=f"simulation made so: {claim.title}",
        kind=claim.kind,
        domain="sim",
        family="reproduce",
        simplicity=claim.simplicity,
        apply=claim.back,
        where=claim.where,
        makes=claim.key,
    )


def lost_values(domains: Domains) -> list[Proposal]:
    """Propose what is left of channels that are dead, or hold one value, in many real rows."""
    made = []
    for at in range(domains.num_channels):
        held = _dead if domains.kind != "table" else _at_one_value
        test = held(domains, at)
        if test is None:
            continue
        ours, theirs = float(test(domains.sim).mean()), float(test(domains.real).mean())
        if theirs - ours < GONE or _is_light(domains, at, test):
            continue
        kind = "dead_channel" if theirs >= WHOLLY or domains.kind != "table" else "stuck_value"
        word = "is flat" if domains.kind != "table" else "holds one value"
        says = f"{domains.names[at]} {word} in {theirs:.0%} of real rows, {ours:.0%} of simulated"
        made += _restored(domains, at, test, kind, says)
    return made


Test = Apply  # rows -> which are hit


def _dead(domains: Domains, at: int) -> Test | None:
    flat = domains.sim[:, at].reshape(len(domains.sim), -1)
    least = FLAT[domains.kind] * float(np.median(flat.std(axis=1)))
    if least <= 0:
        return None
    if domains.kind == "pictures" and _is_quiet(domains, at):
        rough = domains.real[:, at].reshape(len(domains.real), -1).std(axis=1)
        least = max(least, float(rough.max()))
    return lambda values: values[:, at].reshape(len(values), -1).std(axis=1) <= least


def _is_quiet(domains: Domains, at: int) -> bool:
    """Tell whether one colour hardly changes over rows and places, and another does.

    What shines into it from the others, as files that halve colours have it, is no picture.
    """
    ratios = np.exp(domains.widening)
    return bool(ratios[at] <= ONE_VALUE and ratios.max() >= ALIVE)


def _is_light(domains: Domains, at: int, test: Test) -> bool:
    """Tell whether flat pictures are burnt out or dark: all their colours moved, not one went.

    A dead channel holds one value over rows and places, whatever the others do.
    """
    if domains.kind != "pictures" or domains.num_channels == 1:
        return False
    if (domains.shift >= MOVED).all() or (domains.shift <= -MOVED).all():
        return True
    hits = domains.real[test(domains.real).astype(bool), at]
    levels = hits.reshape(len(hits), -1).mean(axis=1)
    return bool(levels.std() > ONE_VALUE * domains.deviations[0][at])


def _at_one_value(domains: Domains, at: int) -> Test | None:
    found, counts = np.unique(domains.real[:, at], return_counts=True)
    value = found[counts.argmax()]
    near = CONSTANT * float(domains.deviations[0][at])
    return lambda values: np.abs(values[:, at] - value) <= near


def _restored(domains: Domains, at: int, test: Test, kind: str, says: str) -> list[Proposal]:
    name = domains.names[at]
    mean = float(domains.means[0][at])
    guess = _guess(domains, at)

    def to_mean(values: Values) -> Values:
        made = values.copy()
        made[test(values).astype(bool), at] = mean
        return made

    def guessed(values: Values) -> Values:
        made, hit = values.copy(), test(values).astype(bool)
        made[hit, at] = guess(values[hit])
        return made

    hits = test(domains.real).astype(bool)
    value = np.median(domains.real[hits, at].reshape(int(hits.sum()), -1))

    def hit_alike(values: Values) -> Values:
        """Hit simulated rows as the real ones are, at random but for the share."""
        made = values.copy()
        chosen = np.random.default_rng(domains.seed).random(len(values)) < hits.mean()
        made[chosen, at] = value
        return made

    word = "dead" if kind == "dead_channel" else "stuck at one value"
    shared = {"kind": kind, "where": name, "evidence": (says,)}
    made = [
        Proposal(
            key=f"mean-{at}",
            title=f"{name}: {word} (set to simulation's mean)",
            domain="real",
            family="restore",
            simplicity=SINGLE,
            apply=to_mean,
            **shared,  # type: ignore[arg-type]
        ),
        Proposal(
            key=f"sim-dead-{at}",
            title=f"simulation with {name} {word}",
            domain="sim",
            family="reproduce",
            simplicity=SINGLE,
            apply=hit_alike,
            **shared,  # type: ignore[arg-type]
        ),
    ]
    if domains.num_channels > 1:
        made.append(
            Proposal(
                key=f"guess-{at}",
                title=f"{name}: {word} (guessed from the others)",
                domain="real",
                family="restore",
                simplicity=SINGLE + 1,
                apply=guessed,
                **shared,  # type: ignore[arg-type]
            )
        )
    return made


def _guess(domains: Domains, at: int) -> Apply:
    """Fit, in simulation, what a channel is given the others at the same place (least squares)."""
    flat = np.moveaxis(domains.sim, 1, -1).reshape(-1, domains.num_channels)
    flat = flat[:: max(1, len(flat) // 20_000)]
    others = [one for one in range(domains.num_channels) if one != at]
    mean = flat.mean(axis=0)
    centred = flat - mean
    ridge = 1e-3 * np.diag((centred[:, others] ** 2).sum(axis=0) + 1e-12)
    gram = centred[:, others].T @ centred[:, others] + ridge
    slopes = np.linalg.solve(gram, centred[:, others].T @ centred[:, at])

    def guess(values: Values) -> Values:
        rest = np.moveaxis(values, 1, -1)[..., others] - mean[others]
        made: Values = rest @ slopes + mean[at]
        return made

    return guess


def ablations(domains: Domains, most: int) -> list[Proposal]:
    """Propose each channel set to its mean in simulation, in both domains: what is it worth?"""
    if domains.num_channels < 2:  # noqa: PLR2004
        return []
    order = np.argsort(-(np.abs(domains.shift) + np.abs(domains.widening)), kind="stable")
    chosen = sorted(int(one) for one in order[:most])
    return [
        Proposal(
            key=f"{domain}-without-{at}",
            title=f"{domains.names[at]}: set to simulation's mean",
            kind="unknown",
            domain=domain,
            family="ablate",
            simplicity=WHOLE,
            apply=_set_to(at, float(domains.means[0][at])),
            where=domains.names[at],
        )
        for at in chosen
        for domain in BOTH
    ]


def _set_to(at: int, value: float) -> Apply:
    def apply(values: Values) -> Values:
        made = values.copy()
        made[:, at] = value
        return made

    return apply


def transplants(domains: Domains, channels: list[int]) -> list[Proposal]:
    """Propose channels taken from other simulated rows, whatever their class, in both domains."""
    return [
        Proposal(
            key=f"{domain}-transplant-{at}",
            title=f"{domains.names[at]}: taken from other simulated rows",
            kind="unknown",
            domain=domain,
            family="transplant",
            simplicity=WHOLE,
            apply=_from(domains, at),
            where=domains.names[at],
        )
        for at in (channels if domains.num_channels > 1 else [])
        for domain in BOTH
    ]


def _from(domains: Domains, at: int) -> Apply:
    def apply(values: Values) -> Values:
        made = values.copy()
        donors = np.random.default_rng(domains.seed + at).integers(len(domains.sim), size=len(made))
        made[:, at] = domains.sim[donors, at]
        return made

    return apply


def table_noise(domains: Domains) -> list[Proposal]:
    """Propose columns cleaned of noise that widened them and hides how they go together.

    A scale leaves correlations as they are; noise makes them smaller. What is left of a column is
    its mean given all of them (Wiener's filter over columns), with simulation's covariance.
    """
    count = domains.num_channels
    if domains.kind != "table" or not 1 < count <= MOST or not domains.widened:
        return []
    ours, theirs = domains.correlations
    off = ~np.eye(count, dtype=bool)
    noisy = []
    for at in domains.widened:
        before, after = np.abs(ours[at][off[at]]), np.abs(theirs[at][off[at]])
        if domains.widening[at] > 0 and after.max() < before[after.argmax()] + 0.05:
            faded = (after.sum() + 0.05) / (before.sum() + 0.05)
            if faded < 0.9:  # noqa: PLR2004
                noisy.append(at)
    if not noisy:
        return []
    channels = tuple(sorted(noisy))
    return [_wiener(domains, channels), _noised(domains, channels)]


def _wiener(domains: Domains, channels: tuple[int, ...]) -> Proposal:
    mean = domains.means[0]
    covariance = np.cov(domains.sim.T)
    (narrow, wide) = domains.deviations
    noise = np.zeros(domains.num_channels)
    for at in channels:
        noise[at] = max(0.0, float(wide[at] ** 2 - narrow[at] ** 2))
    ridge = 1e-9 * np.trace(covariance) / domains.num_channels
    total = covariance + np.diag(noise + ridge)
    filter_ = np.linalg.solve(total, covariance)

    def apply(values: Values) -> Values:
        made = values.copy()
        cleaned = (values - mean) @ filter_ + mean
        made[:, list(channels)] = cleaned[:, list(channels)]
        return made

    where = domains.name(channels)
    return Proposal(
        key="denoise-columns",
        title=f"{where}: noise (the mean given the other columns)",
        kind="sensor_noise",
        domain="real",
        family="restore",
        simplicity=FITTED - 5,
        apply=apply,
        where=where,
        evidence=tuple(_faded(domains, at) for at in channels[:4]),
    )


def _noised(domains: Domains, channels: tuple[int, ...]) -> Proposal:
    narrow, wide = domains.deviations

    def apply(values: Values) -> Values:
        made = values.copy()
        generator = np.random.default_rng(domains.seed)
        for at in channels:
            added = np.sqrt(max(0.0, float(wide[at] ** 2 - narrow[at] ** 2)))
            made[:, at] += generator.normal(0, added, len(made))
        return made

    where = domains.name(channels)
    return Proposal(
        key="sim-noise",
        title=f"simulation with the field's noise ({where})",
        kind="sensor_noise",
        domain="sim",
        family="reproduce",
        simplicity=PLAIN,
        apply=apply,
        where=where,
        evidence=tuple(_faded(domains, at) for at in channels[:4]),
    )


def _faded(domains: Domains, at: int) -> str:
    ours, theirs = domains.deviations
    return (
        f"{domains.names[at]}: deviation {ours[at]:.3g} in simulation, {theirs[at]:.3g} in the "
        "field, and it goes less together with the others"
    )
