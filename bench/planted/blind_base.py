"""Range pictures: a time-of-flight camera above a conveyor, and what lies on it."""

import numpy as np

from bench.planted.base import Base
from bench.planted.bases_pictures import shared_out
from bench.planted.rows import Rows, named

SIDE, REACH_MM = 32, 4000
STATIONS, EACH = 240, 5
THINGS = ("nothing", "box", "ball", "cone", "ring", "wedge")


def depth(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Let stations, each with its own height, tilt and noise, look at what comes by."""
    pictures, labels, groups = [], [], []
    across, down = np.meshgrid(np.linspace(-1, 1, SIDE), np.linspace(-1, 1, SIDE))
    for station in range(STATIONS):
        far, noise = rng.uniform(1000, 2200), rng.uniform(2, 6)
        tilt = rng.normal(0, 12, 2)
        lost = rng.uniform(0.005, 0.04)
        for _ in range(EACH):
            label = int(rng.integers(len(THINGS)))
            floor = far + tilt[0] * across + tilt[1] * down
            seen = floor - _heights(label, across, down, rng) + rng.normal(0, noise, floor.shape)
            seen[rng.random(seen.shape) < lost] = 0
            pictures.append(np.clip(np.rint(seen), 0, REACH_MM).astype(np.uint16))
            labels.append(label)
            groups.append(f"station-{station:03d}")
    return shared_out(named(np.stack(pictures), np.array(labels), groups, "r"), rng)


def _heights(
    label: int, across: np.ndarray, down: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return how high a thing stands above the conveyor, in millimetres."""
    turn, (left, top) = rng.uniform(0, 2 * np.pi), rng.normal(0, 0.13, 2)
    size, high = rng.uniform(0.42, 0.62), rng.uniform(90, 180)
    x = (np.cos(turn) * (across - left) + np.sin(turn) * (down - top)) / size
    y = (np.cos(turn) * (down - top) - np.sin(turn) * (across - left)) / size
    radius = np.hypot(x, y)
    is_square = (np.abs(x) < 0.85) & (np.abs(y) < 0.85)
    shapes = (
        np.zeros_like(x),
        np.where(is_square, 0.8, 0.0),
        np.sqrt(np.clip(1 - radius**2, 0, None)),
        1.2 * np.clip(1 - radius, 0, None),
        0.6 * np.sqrt(np.clip(1 - ((radius - 0.75) / 0.35) ** 2, 0, None)),
        np.where(is_square, 0.6 * (1 + x / 0.85), 0.0),
    )
    return np.asarray(high * shapes[label])


BASES = (
    Base(
        name="depth",
        modality="picture",
        make=depth,
        chain="depth_chain",
        steps=("decode", "fill", "resize", "level", "normalise", "layout"),
        raw="decode",
        scaled="normalise",
        axes="HW",
        top=4000.0,
        net="depth_net",
        shape={"channels": 1, "side": 24, "classes": len(THINGS)},
        contract={"dtype": "uint16", "shape": [SIDE, SIDE], "range": [0, REACH_MM]},
        classes=len(THINGS),
        epochs=24,
    ),
)
