"""Pictures: handwritten 8x8 digits, rendered 28x28 letters, signs in JPEG files."""

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from bench.planted.base import NUM_REAL, NUM_SIM, Base, load_module
from bench.planted.rows import Rows, named

CASES = Path(__file__).resolve().parents[2] / "cases"


@cache
def code_of(case: str, module: str) -> ModuleType:
    """Load a module of one of our own cases."""
    module_here = load_module(CASES / case / "code" / f"{module}.py")
    sys.modules.setdefault(module_here.__name__, module_here)
    return module_here


def shared_out(
    rows: Rows, rng: np.random.Generator, sim: int = NUM_SIM, real: int = NUM_REAL
) -> tuple[Rows, Rows, Rows]:
    """Deal whole groups at random to the field, to validation, and the rest to training."""
    groups = np.array(rows.groups)
    order = rng.permutation(np.unique(groups))
    at: list[np.ndarray] = []
    used = 0
    for wanted in (real, sim):
        chosen: list[int] = []
        while len(chosen) < wanted:
            chosen += np.flatnonzero(groups == order[used]).tolist()
            used += 1
        at.append(np.array(chosen))
    rest = np.flatnonzero(np.isin(groups, order[used:]))
    return rows.take(rng.permutation(rest)), rows.take(at[1]), rows.take(at[0])


def digits(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Deal runs of five handwritten digits."""
    hand = code_of("digits", "digits_data").handwritten()
    groups = [f"run-{row // 5:03d}" for row in range(len(hand.labels))]
    rows = named(hand.samples, np.array(hand.labels), groups, "d")
    return shared_out(rows, rng)


LETTERS = "abdegpqnuz"


def glyphs(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Render pages of letters, each with its own ink, paper and sharpness."""
    data = code_of("digits", "digits_data")
    pictures, labels, groups = [], [], []
    drawn = {
        (face, label): _letter(data, face, LETTERS[label])
        for face in data.FACES
        for label in range(len(LETTERS))
    }
    for page in range(300):
        ink, paper = rng.uniform(150, 235), rng.uniform(0, 25)
        for row in range(5):
            label = int(rng.integers(len(LETTERS)))
            face = data.FACES[(page + row) % len(data.FACES)]
            pictures.append(_scanned(drawn[face, label], rng, ink, paper))
            labels.append(label)
            groups.append(f"page-{page:03d}")
    rows = named(np.stack(pictures), np.array(labels), groups, "g")
    return shared_out(rows, rng)


def _letter(data: ModuleType, face: str, letter: str) -> np.ndarray:
    from PIL import Image, ImageDraw, ImageFont

    file = str(data.package("matplotlib") / f"mpl-data/fonts/ttf/{face}.ttf")
    font = ImageFont.truetype(file, 84, layout_engine=ImageFont.Layout.BASIC)
    image = Image.new("L", (112, 112))
    ImageDraw.Draw(image).text((56, 56), letter, 255, font, anchor="mm")
    return np.asarray(image, np.float32) / 255


def _scanned(letter: np.ndarray, rng: np.random.Generator, ink: float, paper: float) -> np.ndarray:
    import cv2

    turn, zoom = rng.normal(0, 7), rng.normal(1, 0.08)
    matrix = cv2.getRotationMatrix2D((56, 56), turn, zoom)
    matrix[:, 2] += rng.normal(0, 5, 2)
    warped = cv2.warpAffine(letter, matrix, (112, 112))
    small = cv2.resize(warped, (28, 28), interpolation=cv2.INTER_AREA)
    seen = paper + (ink - paper) * small + rng.normal(0, 10, small.shape)
    return np.clip(np.rint(seen), 0, 255).astype(np.uint8)


def signs(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Let cameras take signs over flat colours; some are mounted on their side."""
    data = code_of("shapes", "shapes_data")
    taken: list[tuple[bytes, int, str]] = []
    for number in range(200):
        gains = tuple(rng.uniform(0.8, 1.15) + rng.normal(0, 0.03, 3))
        camera = data.Camera(
            f"camera-{number:03d}",
            (1, 6, 1, 8, 1, 3)[number % 6],
            data.UPRIGHT[number % 4],
            int(rng.integers(70, 95)),
            gains=gains,
            contrast=rng.uniform(0.8, 1.0),
            noise=rng.uniform(3.0, 8.0),
        )
        for row in range(6):
            label = row % len(data.SIGNS)
            scene = data.background(camera, {}, rng)
            picture = data.place(data.SIGNS[label], scene, rng)
            taken.append((data.expose(picture, camera, rng), label, camera.name))
    samples, labels, groups = (list(part) for part in zip(*taken, strict=True))
    return shared_out(named(samples, np.array(labels), groups, "s"), rng)


BASES = (
    Base(
        name="digits",
        modality="picture",
        make=digits,
        chain="digits_chain",
        steps=("decode", "scale", "layout"),
        raw="decode",
        scaled="scale",
        axes="HW",
        top=16.0,
        net="picture_net",
        shape={"channels": 1, "side": 8, "classes": 10},
        contract={"dtype": "uint8", "shape": [8, 8], "range": [0, 16]},
        classes=10,
        epochs=12,
    ),
    Base(
        name="glyphs",
        modality="picture",
        make=glyphs,
        chain="glyphs_chain",
        steps=("decode", "resize", "normalise", "layout"),
        raw="decode",
        scaled="normalise",
        axes="HW",
        top=255.0,
        net="picture_net",
        shape={"channels": 1, "side": 20, "classes": 10},
        contract={"dtype": "uint8", "shape": [28, 28], "range": [0, 255]},
        classes=10,
        epochs=8,
        extra={"size": 20},
    ),
    Base(
        name="signs",
        modality="picture",
        make=signs,
        chain="signs_chain",
        steps=("decode", "crop", "resize", "normalise", "layout"),
        raw="decode",
        scaled="normalise",
        axes="HWC",
        top=255.0,
        net="picture_net",
        shape={"channels": 3, "side": 24, "classes": 6},
        contract={"dtype": "uint8", "shape": [None, None, 3], "range": [0, 255]},
        classes=6,
        epochs=10,
        extra={"size": 24},
    ),
)
