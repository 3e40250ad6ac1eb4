"""Which cases there are: kinds, bases, severities, seeds; in an order that stays balanced."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.planted import (
    bases_pictures,
    bases_signals,
    bases_tables,
    kinds_data,
    kinds_harmless,
    kinds_model,
    kinds_pictures,
    kinds_postprocessing,
    kinds_values,
)
from bench.planted.base import Base
from bench.planted.kind import KINDS, SEVERITIES, Kind

MODULES = (kinds_pictures, kinds_values, kinds_model, kinds_postprocessing, kinds_data,
           kinds_harmless)  # fmt: skip
"""Importing them registers their kinds."""

BASES: Mapping[str, Base] = {
    base.name: base for base in (*bases_pictures.BASES, *bases_signals.BASES, *bases_tables.BASES)
}
SEEDS = range(5)
CALIBRATE_ON = frozenset({"digits", "signs", "motion", "wheel", "heating"})
CALIBRATE_SEEDS = frozenset({0, 1, 2})

DOUBLES = (  # what breaks first stands first; each kind at severity 1 or 2
    ("colour_order", "label_permutation"),
    ("turned", "stale_checkpoint"),
    ("gamma", "label_noise"),
    ("turned", "dropout_on"),
    ("shifted", "other_constants"),
    ("colour_order", "few_levels"),
    ("column_order", "not_loaded"),
    ("unit_mismatch", "label_permutation"),
    ("unit_mismatch", "threshold"),
    ("unit_mismatch", "dead_channel"),
    ("rate_mismatch", "label_offset"),
    ("full_range", "label_permutation"),
    ("column_order", "stuck_value"),
    ("not_loaded", "label_noise"),
    ("frame", "sensor_noise"),
    ("missing_value", "temperature"),
)


@dataclass(frozen=True, slots=True)
class Spec:
    """One case to make and examine."""

    group: str  # fault, null, double; real and blind come from their own modules
    kinds: tuple[str, ...]
    base: str
    severity: int
    seed: int

    @property
    def id(self) -> str:
        """Its name in records; no case ever holds it."""
        return f"{'+'.join(self.kinds)}/{self.base}/{self.severity}/{self.seed}"

    @property
    def part(self) -> str:
        """Whether thresholds may be fitted to it: by data set and by seed."""
        own = self.base in CALIBRATE_ON and self.seed in CALIBRATE_SEEDS
        return "calibrate" if own else "report"

    @property
    def order(self) -> str:
        """Where it stands: mixed, and the same each time."""
        return hashlib.sha256(self.id.encode()).hexdigest()


class BlindSpec(Spec):
    """A case of the blind part."""

    @property
    def part(self) -> str:
        """Never fitted to."""
        return "blind"


def all_specs(seeds: range = SEEDS) -> list[Spec]:
    """Return every case of the benchmark, mixed, so that any beginning of it is a fair sample."""
    found = [*_faults(seeds), *_nulls(seeds), *_doubles(seeds)]
    return sorted(found, key=lambda spec: spec.order)


def kinds_of(component: str | None = None) -> list[Kind]:
    """Return our own kinds of one component, or all faults."""
    ours = {module.__name__ for module in MODULES}
    return [
        kind
        for kind in KINDS.values()
        if kind.plant.__module__ in ours
        and (kind.component != "none" if component is None else kind.component == component)
    ]


def _faults(seeds: range) -> Iterator[Spec]:
    for kind in kinds_of():
        for severity in SEVERITIES:
            for seed in seeds:
                base = kind.on[(seed + 2 * severity + len(kind.key)) % len(kind.on)]
                yield Spec("fault", (kind.key,), base, severity, seed)


def _nulls(seeds: range) -> Iterator[Spec]:
    for kind in kinds_of("none"):
        for place, base in enumerate(kind.on):
            for seed in seeds:
                yield Spec("null", (kind.key,), base, (seed + place) % len(SEVERITIES), seed)


def _doubles(seeds: range) -> Iterator[Spec]:
    for pair in DOUBLES:
        first, second = (KINDS[key] for key in pair)
        shared = [base for base in first.on if base in second.on]
        for seed in seeds:
            base = shared[seed % len(shared)]
            yield Spec("double", pair, base, 1 + seed % 2, seed)
