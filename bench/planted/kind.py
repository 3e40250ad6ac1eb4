"""One kind of fault, or of harmless difference: where it can stand, and how it is planted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.planted.base import Base
from bench.planted.draft import Draft

Component = Literal["preprocessing", "model", "postprocessing", "data", "none"]
Plant = Callable[[Draft, int, np.random.Generator], str | None]
"""Changes the draft at a severity of 0, 1 or 2; returns the step that is changed, if it is one."""

SEVERITIES = (0, 1, 2)

# Names of one and the same thing. The vocabulary stands in docs/kinds.md.
LINES = frozenset(
    {"scale", "multiplied", "offset", "affine", "invert", "normalisation", "channel_affine"}
    | {"channel_constant", "unit_ratio", "channel_offset", "channel_scale", "band_gain"}
)
ORDERS = frozenset(["channel_permutation", "channel_order", "column_order", "channel_copy"])
TURNS = frozenset(
    {"turn", "flip", "flip_horizontal", "flip_vertical", "rotate_90", "rotate_180", "rotate_270"}
    | {"transpose", "anti_transpose"}
)
GRIDS = frozenset(["quantise", "rounding"])
CURVES = frozenset({"gamma", "monotone_curve", "logarithm", "exponential", "saturated"})


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of the benchmark."""

    key: str  # the benchmark's own; no case ever holds it
    component: Component
    names: frozenset[str]  # what an answer may call it
    on: tuple[str, ...]  # the bases that it can hurt
    plant: Plant

    def fits(self, base: Base) -> bool:
        """Tell whether it can stand in a base."""
        return base.name in self.on

    def is_named(self, answer: str) -> bool:
        """Tell whether an answer's kind names it: every part of it, and nothing else."""
        return set(answer.split("+")) <= self.names


KINDS: dict[str, Kind] = {}


def kind(
    component: Component, names: str | frozenset[str], on: str
) -> Callable[[Callable[..., str | None]], Plant]:
    """Register a function `plant(draft, severity, rng)` as a kind; its name is the key."""

    def register(plant: Callable[..., str | None]) -> Plant:
        words = names if isinstance(names, frozenset) else frozenset(names.split())
        key = plant.__name__
        if key in KINDS:
            raise ValueError(f"two kinds are called {key}")
        KINDS[key] = Kind(key, component, words, tuple(on.split()), plant)
        return plant

    return register
