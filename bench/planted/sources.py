"""All cases, of every source: planted faults, rebuilt real ones, and blind ones where they are."""

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.planted import specs
from bench.planted.base import made
from bench.planted.kind import KINDS, Kind
from bench.planted.specs import Spec

OPTIONAL = ("bench.planted.real_faults", "bench.planted.blind")
PEER_SHARE = 5  # every fifth case


def _more() -> list[Any]:
    there = [name for name in OPTIONAL if importlib.util.find_spec(name) is not None]
    return [importlib.import_module(name) for name in there]


def every() -> list[Spec]:
    """Return all cases, mixed, so that any beginning is a fair sample."""
    found = specs.all_specs()
    for module in _more():
        found += module.specs()
    return sorted(found, key=lambda spec: spec.order)


def kinds() -> Mapping[str, Kind]:
    """Return all kinds."""
    _more()
    return KINDS


def prepare(chosen: Iterable[Spec], work: Path) -> None:
    """Train what networks the cases start from, so that no two cases train one at once."""
    wanted = {(spec.base, spec.seed) for spec in chosen}
    every_base = {**specs.BASES, **{b.name: b for m in _more() for b in getattr(m, "BASES", ())}}
    specs.BASES = every_base  # type: ignore[misc]
    for name, seed in sorted(wanted):
        made(every_base[name], seed, work)
    halves = {"stale_checkpoint", "class_prior", "claim_not_reached"}
    for spec in chosen:
        for key, variant in (*((key, "half") for key in halves), ("leakage", "small")):
            if key in spec.kinds:
                made(every_base[spec.base], spec.seed, work, variant)
        if "another_model" in spec.kinds:
            made(every_base[spec.base], (spec.seed + 1 + spec.severity) % 5, work)


def asks_peers(spec: Spec) -> bool:
    """Tell whether the peers are asked too: of a fixed share of the cases."""
    return spec.group in ("fault", "null") and int(spec.order[:8], 16) % PEER_SHARE == 0


def sample(found: Sequence[Spec], num: int) -> list[Spec]:
    """Return a sample of all groups and components for a quick run."""
    per: dict[str, list[Spec]] = {}
    for spec in found:
        if spec.seed == 0 and spec.severity > 0:
            key = spec.group if spec.group != "fault" else KINDS[spec.kinds[0]].component
            per.setdefault(key, []).append(spec)
    each = -(-num // max(1, len(per)))
    return [spec for specs_of in per.values() for spec in specs_of[:each]][:num]
