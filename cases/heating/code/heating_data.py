"""Makes the three data sets of the case: Dulong's formula (train, sim) and a calorimeter (real).

Raw convention of all three: float32 (5,), what a dry sample holds of carbon, hydrogen, oxygen,
nitrogen and sulphur in per cent of its mass; the rest is ash. The label is the higher heating value
in MJ/kg: of the formula for train and sim, measured for real.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ELEMENTS = ("carbon", "hydrogen", "oxygen", "nitrogen", "sulfur")
TABLE = Path(__file__).with_name("biomass.csv")
NUM_TRAIN, NUM_SIM = 3000, 600
NUM_BATCHES = 20
CHAR_SHARE = 0.15  # of the samples: chars and coals, rich in carbon
LABEL_NOISE = 0.15  # MJ/kg

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Raw samples with what the manifest says about each."""

    prefix: str
    samples: NDArray[np.float32]  # (rows, 5)
    labels: list[float]  # MJ/kg
    groups: list[str]


def make(out: Path, seed: int) -> None:
    """Write `out/train`, `out/sim` and `out/real`; the same bytes for the same seed."""
    train = simulate("train", NUM_TRAIN, np.random.default_rng((seed, 0)))
    sim = simulate("sim", NUM_SIM, np.random.default_rng((seed, 1)))
    for dataset in (train, sim, measured()):
        write(dataset, Path(out) / dataset.prefix)


def simulate(prefix: str, num: int, rng: np.random.Generator) -> Dataset:
    """Invent `num` compositions, each batch with its own content of ash; apply the formula."""
    batch = np.arange(num) % NUM_BATCHES
    plants, chars = plant_matter(num, rng), char_matter(num, rng)
    organic = np.where(rng.random((num, 1)) < CHAR_SHARE, chars, plants)
    ash = rng.exponential(rng.uniform(2, 12, NUM_BATCHES)[batch]).clip(0, 50)
    samples = organic * (1 - ash / 100)[:, None]
    labels = dulong(samples) + rng.normal(0, LABEL_NOISE, num)
    groups = [f"batch-{number:02d}" for number in batch]
    return Dataset(prefix, samples.astype(np.float32), labels.round(3).tolist(), groups)


def plant_matter(num: int, rng: np.random.Generator) -> Array:
    """Draw compositions of wood, straw and the like, without ash; each adds up to 100."""
    hydrogen, oxygen = rng.normal(6.0, 0.7, num).clip(3, 9), rng.normal(42, 4.5, num).clip(20, 60)
    return completed(hydrogen, oxygen, rng.exponential(1.2, num), rng.exponential(0.25, num))


def char_matter(num: int, rng: np.random.Generator) -> Array:
    """Draw compositions of chars and coals, without ash; each adds up to 100."""
    hydrogen, oxygen = rng.uniform(0.5, 6, num), rng.uniform(1, 25, num)
    return completed(hydrogen, oxygen, rng.exponential(1.0, num), rng.exponential(0.6, num))


def completed(hydrogen: Array, oxygen: Array, nitrogen: Array, sulfur: Array) -> Array:
    """Return (rows, 5) compositions: carbon is what the other elements leave."""
    carbon = 100 - hydrogen - oxygen - nitrogen - sulfur
    return np.stack([carbon, hydrogen, oxygen, nitrogen, sulfur], axis=1)


def dulong(samples: Array) -> Array:
    """Return the higher heating value in MJ/kg that Dulong's formula gives to (rows, 5) per cent.

    All carbon, sulphur and free hydrogen burn; oxygen has bound an eighth of its mass of hydrogen.
    """
    carbon, hydrogen, oxygen, _, sulfur = samples.T
    return np.asarray(0.3383 * carbon + 1.443 * (hydrogen - oxygen / 8) + 0.0942 * sulfur)


def measured() -> Dataset:
    """Read the samples that went through a calorimeter (biomass.csv, see biomass.py)."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    samples = np.array([[row[element] for element in ELEMENTS] for row in rows], np.float32)
    labels = [float(row["hhv"]) for row in rows]
    return Dataset("real", samples, labels, [fuel(row["sample"]) for row in rows])


def fuel(name: str) -> str:
    """Return the kind of fuel that a sample's name begins with: its first word."""
    return name.replace("-", " ").replace(",", " ").split()[0].lower()


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
