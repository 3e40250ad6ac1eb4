"""Makes the three data sets of the case: generated wrist motion (train, sim), and recorded (real).

Raw convention of all three: float32 (100, 6), one row a moment at 10 Hz; three accelerations in
m/s2, then three angular velocities in rad/s. Generator and recordings do not agree on what an
accelerometer at rest reads: 9.81 m/s2 upwards there, as physics has it; nothing here, as gravity
was removed before the recordings were stored.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CLASSES = ("Standing", "Walking", "Running", "Badminton")
NUM_MOMENTS = 100
RATE_HZ = 10.0
GRAVITY = 9.81  # m/s2
FINE = 10  # the motion is computed this many times finer than it is sampled
RECORDED = Path(__file__).with_name("basic_motions.npz")
BLOCK = 4  # recordings of a block: one of each class

NUM_TRAIN = (24, 20)  # wearers, takes of each class
NUM_SIM = (12, 10)  # other wearers

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Motion:
    """One activity: ranges from which a take draws uniformly."""

    bend_rad: tuple[float, float]  # the forearm, from hanging down (0) to level (pi / 2)
    swing_hz: tuple[float, float]  # the arm's, once a stride
    swing_rad: tuple[float, float]  # its half range
    bounce: tuple[float, float]  # m/s2, the trunk's up and down, twice a stride
    sharpness: float  # how much of the bounce falls into the moment of the footfall
    strokes_hz: float  # how often a stroke of the racket comes, on average


MOTIONS = (
    Motion((0.0, 0.4), (0.5, 1.1), (0.02, 0.15), (0.0, 0.2), 1.0, 0.0),
    Motion((0.1, 0.6), (0.65, 0.95), (0.25, 0.55), (0.5, 1.5), 1.0, 0.0),
    Motion((0.9, 1.6), (1.0, 1.4), (0.7, 1.2), (5.0, 9.0), 3.0, 0.0),
    Motion((0.5, 1.2), (0.4, 1.2), (0.1, 0.4), (1.0, 4.0), 2.0, 1.0),
)


@dataclass(frozen=True, slots=True)
class Wearer:
    """Who wears the watch, and how."""

    forearm_m: float
    mounting: Array  # (3, 3), how the watch sits on the wrist
    lively: float  # a factor on all that this wearer does


@dataclass(frozen=True, slots=True)
class Dataset:
    """Raw samples with what the manifest says about each."""

    prefix: str
    samples: NDArray[np.float32]  # (rows, 100, 6)
    labels: list[int]
    groups: list[str]


def make(out: Path, seed: int) -> None:
    """Write `out/train`, `out/sim` and `out/real`; the same bytes for the same seed."""
    train = generate("train", NUM_TRAIN, np.random.default_rng((seed, 0)))
    sim = generate("sim", NUM_SIM, np.random.default_rng((seed, 1)))
    for dataset in (train, sim, recorded()):
        write(dataset, Path(out) / dataset.prefix)


def generate(
    prefix: str, size: tuple[int, int], rng: np.random.Generator, gravity: float = GRAVITY
) -> Dataset:
    """Let each of `size[0]` wearers do each activity `size[1]` times."""
    samples, labels, groups = [], [], []
    for number in range(size[0]):
        wearer = Wearer(rng.uniform(0.22, 0.3), turn(rng.normal(0, 0.15, 3)), rng.uniform(0.8, 1.2))
        for _ in range(size[1]):
            for label, motion in enumerate(MOTIONS):
                samples.append(take(motion, wearer, rng, gravity))
                labels.append(label)
                groups.append(f"{prefix}-wearer-{number:02d}")
    return Dataset(prefix, np.stack(samples), labels, groups)


def take(
    motion: Motion, wearer: Wearer, rng: np.random.Generator, gravity: float
) -> NDArray[np.float32]:
    """Let a wearer move for ten seconds, and read the watch.

    The forearm is a rod about the elbow. In its frame x points to the elbow, z is the axis of the
    arm's swing, y completes the two. The trunk moves up and down with each footfall.
    """
    moments = np.arange(NUM_MOMENTS * FINE) / (RATE_HZ * FINE)
    cycle = stride(moments, rng.uniform(*motion.swing_hz), rng)
    swing = wearer.lively * rng.uniform(*motion.swing_rad) * np.sin(cycle)
    roll, yaw, pitch = (strokes(moments, motion.strokes_hz, wearer, rng) for _ in range(3))
    roll, yaw, pitch = roll + 0.3 * swing, yaw + 0.2 * swing, pitch + swing
    bend = rng.uniform(*motion.bend_rad) + pitch
    beat = np.exp(motion.sharpness * (np.cos(2 * cycle + rng.uniform(0, 2 * np.pi)) - 1))
    # What lies still is held against gravity: an accelerometer reads it upwards.
    felt = gravity + wearer.lively * rng.uniform(*motion.bounce) * (beat - beat.mean()) / beat.std()
    spin = np.gradient(np.stack([roll, yaw, pitch], axis=1), moments, axis=0)
    spun = np.gradient(spin, moments, axis=0)
    along = np.cos(bend) * felt + wearer.forearm_m * (spin[:, 1] ** 2 + spin[:, 2] ** 2)
    across = np.sin(bend) * np.cos(roll) * felt + wearer.forearm_m * spun[:, 2]
    aside = np.sin(bend) * np.sin(roll) * felt + wearer.forearm_m * spun[:, 1]
    acceleration = np.stack([along, across, aside], axis=1)
    signals = np.concatenate([acceleration @ wearer.mounting, spin @ wearer.mounting], axis=1)
    sampled = signals.reshape(NUM_MOMENTS, FINE, 6).mean(axis=1)  # the watch averages
    sampled += rng.normal(0, [0.06] * 3 + [0.02] * 3, sampled.shape)
    return sampled.astype(np.float32)


def stride(moments: Array, rate_hz: float, rng: np.random.Generator) -> Array:
    """Return the phase of the arm's swing, which wanders a little from stride to stride."""
    wander = np.cumsum(rng.normal(0, 0.02, len(moments)))
    return np.asarray(2 * np.pi * rate_hz * moments + wander + rng.uniform(0, 2 * np.pi))


def strokes(moments: Array, rate_hz: float, wearer: Wearer, rng: np.random.Generator) -> Array:
    """Return the angle that strokes of a racket add: short swings there and back, at no rhythm."""
    angle = np.zeros(len(moments))
    for _ in range(rng.poisson(rate_hz * moments[-1])):
        since = (moments - rng.uniform(0, moments[-1])) / rng.uniform(0.12, 0.3)
        angle += wearer.lively * rng.normal(0, 1.3) * np.exp(-(since**2) / 2)
    return angle


def turn(angles: Array) -> Array:
    """Return the (3, 3) rotation by three small angles about x, y and z, one after the other."""
    matrix = np.eye(3)
    for axis, angle in enumerate(angles):
        one, other = [index for index in range(3) if index != axis]
        step = np.eye(3)
        step[one, one] = step[other, other] = np.cos(angle)
        step[one, other], step[other, one] = -np.sin(angle), np.sin(angle)
        matrix = matrix @ step
    return matrix


def recorded() -> Dataset:
    """Read the BasicMotions recordings that lie beside this file (see basic_motions.py)."""
    with np.load(RECORDED, allow_pickle=False) as arrays:
        samples, labels = arrays["samples"], arrays["labels"]
    num_seen = [0] * len(CLASSES)
    groups = []
    for label in labels.tolist():
        groups.append(f"block-{num_seen[label] // (BLOCK // len(CLASSES)):02d}")
        num_seen[label] += 1
    return Dataset("real", samples, labels.tolist(), groups)


def write(dataset: Dataset, folder: Path) -> None:
    """Write `manifest.csv` and `samples.npy`."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "samples.npy", np.ascontiguousarray(dataset.samples))
    digits = len(str(len(dataset.samples) - 1))
    with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("id", "row", "label", "group"))
        for row, (label, group) in enumerate(zip(dataset.labels, dataset.groups, strict=True)):
            rows.writerow((f"{dataset.prefix}-{row:0{digits}d}", row, label, group))
