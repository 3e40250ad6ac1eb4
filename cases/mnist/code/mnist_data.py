"""Makes the data sets of the case: rendered digits (train, sim) and handwritten ones (real).

Raw convention of all: uint8 (28, 28), rows downwards, 0 = paper, 255 = full ink, as MNIST has it.
"""

import csv
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

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
SIDE = 28
ZOOM = 4  # glyphs are drawn this many times larger, then warped down
EM_PX = 20.0  # the size of the type in a picture of 28 pixels
REAL = Path(__file__).with_name("mnist_5k.npz")
BLOCK = 20  # rows of each digit in a group of `real`


@dataclass(frozen=True, slots=True)
class Jitter:
    """How much rendered digits differ from each other: standard deviations of normal draws."""

    shift_px: float = 0.95
    turn_deg: float = 4.5
    log_scale: float = 0.05
    shear: float = 0.0
    log_aspect: float = 0.0
    stroke: float = 0.0  # chance that strokes are made thinner, and that they are made thicker
    blur_px: float = 0.0  # at most
    noise: float = 4.0  # of a pixel, in grey levels


PLAIN = Jitter()
RANDOMISED = Jitter(
    shift_px=1.5, turn_deg=12.0, log_scale=0.12, shear=0.25, log_aspect=0.2, stroke=0.3, blur_px=1.0
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Raw samples with what the manifest says about each."""

    prefix: str
    samples: NDArray[np.uint8]  # (rows, 28, 28)
    labels: list[int]
    groups: list[str]


def make(out: Path, seed: int, jitter: Jitter = PLAIN) -> None:
    """Write `out/train`, `out/sim` and `out/real`; the same bytes for the same seed.

    Train and sim are drawn from two streams of random numbers.
    """
    train = render("train", NUM_TRAIN, np.random.default_rng((seed, 0)), jitter)
    sim = render("sim", NUM_SIM, np.random.default_rng((seed, 1)), jitter)
    for dataset in (train, sim, handwritten()):
        write(dataset, Path(out) / dataset.prefix)


def render(prefix: str, num: int, rng: np.random.Generator, jitter: Jitter) -> Dataset:
    """Render `num` digits, digits and faces in turn."""
    labels = [row % 10 for row in range(num)]
    faces = [FACES[row // 10 % len(FACES)] for row in range(num)]
    glyphs = {(face, digit): glyph(face, digit) for face in FACES for digit in range(10)}
    drawn = [warp(glyphs[key], rng, jitter) for key in zip(faces, labels, strict=True)]
    return Dataset(prefix, np.stack(drawn), labels, faces)


def glyph(face: str, digit: int) -> Image.Image:
    """Draw one digit, centred by the font's own metrics."""
    side = SIDE * ZOOM
    font = ImageFont.truetype(
        # The basic layout: the other one needs a library that not every host has.
        str(package("matplotlib") / f"mpl-data/fonts/ttf/{face}.ttf"),
        EM_PX * ZOOM,
        layout_engine=ImageFont.Layout.BASIC,
    )
    image = Image.new("L", (side, side))
    ImageDraw.Draw(image).text((side / 2, side / 2), str(digit), 255, font, anchor="mm")
    return image


def warp(image: Image.Image, rng: np.random.Generator, jitter: Jitter) -> NDArray[np.uint8]:
    """Move, turn, scale and slant a glyph, change its strokes, and add noise."""
    turn = np.deg2rad(rng.normal(0, jitter.turn_deg))
    zoom = np.exp(rng.normal(0, jitter.log_scale))
    aspect = np.exp(rng.normal(0, jitter.log_aspect))
    shear = rng.normal(0, jitter.shear)
    x, y = SIDE / 2 + rng.normal(0, jitter.shift_px, 2)
    drawn, blur = rng.random(), rng.random() * jitter.blur_px
    if drawn < jitter.stroke:
        image = image.filter(ImageFilter.MinFilter(3))
    elif drawn > 1 - jitter.stroke:
        image = image.filter(ImageFilter.MaxFilter(7))
    cos, sin, centre = np.cos(turn), np.sin(turn), SIDE * ZOOM / 2
    a, b = ZOOM * zoom * aspect * np.array([cos + shear * sin, shear * cos - sin])
    d, e = ZOOM * zoom / aspect * np.array([sin, cos])
    inverse = (a, b, centre - a * x - b * y, d, e, centre - d * x - e * y)
    picture = image.filter(ImageFilter.BoxBlur(ZOOM / 2 - 0.5)).transform(
        (SIDE, SIDE), Image.Transform.AFFINE, inverse, Image.Resampling.BILINEAR
    )
    if blur:
        picture = picture.filter(ImageFilter.GaussianBlur(blur))
    grey = np.asarray(picture) + rng.normal(0, jitter.noise, (SIDE, SIDE))
    return np.clip(np.rint(grey), 0, 255).astype(np.uint8)


def handwritten() -> Dataset:
    """Read the 5,000 digits, 500 of each; a group is a block of neighbours of each digit."""
    with np.load(REAL, allow_pickle=False) as arrays:
        samples, labels = arrays["samples"], arrays["labels"]
    within = [int((labels[:row] == label).sum()) for row, label in enumerate(labels)]
    groups = [f"block-{at // BLOCK:02d}" for at in within]
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


def package(name: str) -> Path:
    """Find an installed package's folder without importing it: it is slow to import."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        message = f"the fonts are files inside {name}: pip install {name}"
        raise ModuleNotFoundError(message)
    return Path(spec.origin).parent
