"""Makes the data sets of the case: signs over flat colours (train, sim), over photographs (real).

All are JPEG files as a camera hands them over: 96x72 or 72x96 pixels after they are turned upright,
the turn stated in the EXIF tag `Orientation` by cameras that are mounted on their side.
"""

import csv
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 96, 72
ZOOM = 4  # signs are drawn this many times larger, then reduced
ORIENTATION = 0x0112  # the EXIF tag
# How the upright picture is stored under each value of the tag: what a viewer undoes.
STORED = {
    1: None,
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}
UPRIGHT = (False, False, False, True)  # every fourth camera takes pictures taller than wide
PHOTOGRAPHS = ("china.jpg", "flower.jpg")


@dataclass(frozen=True, slots=True)
class Sign:
    """What one class looks like: corners on a circle of radius 1, or none for a disc."""

    name: str
    colour: tuple[int, int, int]  # red, green, blue
    corners: int
    first_deg: float = 0.0  # where the first corner lies, clockwise from the right


RED, BLUE, GREEN = (190, 30, 45), (25, 75, 170), (20, 130, 70)
SIGNS = (
    Sign("red disc", RED, 0),
    Sign("blue disc", BLUE, 0),
    Sign("red triangle, up", RED, 3, -90.0),
    Sign("red triangle, down", RED, 3, 90.0),
    Sign("blue square", BLUE, 4, 45.0),
    Sign("green square", GREEN, 4, 45.0),
)


@dataclass(frozen=True, slots=True)
class Camera:
    """One device: how it is mounted, and what it makes of colours."""

    name: str
    orientation: int
    upright: bool  # taller than wide once turned
    quality: int  # of its JPEG files
    gains: tuple[float, float, float] = (1.0, 1.0, 1.0)  # red, green, blue
    contrast: float = 1.0
    blur_px: float = 0.0
    noise: float = 2.0  # standard deviation, of 255
    photograph: str | None = None  # the scene behind its signs; None: flat colours


@dataclass(frozen=True, slots=True)
class Dataset:
    """JPEG files with what the manifest says about each."""

    prefix: str
    files: list[bytes] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    cameras: list[str] = field(default_factory=list)


def make(out: Path, seed: int) -> None:
    """Write `out/train`, `out/sim` and `out/real`; the same bytes for the same seed."""
    scenes = {name: photograph(name) for name in PHOTOGRAPHS}
    flat = [simulated(number) for number in range(12)]
    for place, (prefix, cameras, num_each) in enumerate(
        (("train", flat, 20), ("sim", flat, 5), ("real", real_cameras(seed), 7))
    ):
        rng = np.random.default_rng((seed, place))
        write(take(prefix, cameras, num_each, scenes, rng), Path(out) / prefix)


def simulated(number: int) -> Camera:
    """Return one of the simulator's cameras: neutral colours, every third one on its side."""
    return Camera(f"sim-{number:02d}", (1, 1, 6)[number % 3], UPRIGHT[number % 4], 90)


def real_cameras(seed: int) -> list[Camera]:
    """Return the 16 devices of the field, each with its own light, exposure and mounting."""
    rng = np.random.default_rng((seed, 99))
    cameras = []
    for number in range(16):
        warmth, brightness = rng.normal(0, 0.16), rng.uniform(0.6, 1.15)
        cameras.append(
            Camera(
                f"device-{number:02d}",
                (1, 6, 1, 8, 1, 3)[number % 6],
                UPRIGHT[number % 4],
                int(rng.integers(45, 90)),
                gains=(brightness * (1 + warmth), brightness, brightness * (1 - warmth)),
                contrast=rng.uniform(0.55, 1.0),
                blur_px=rng.uniform(0.0, 1.2),
                noise=rng.uniform(2.0, 9.0),
                photograph=PHOTOGRAPHS[number % 2],
            )
        )
    return cameras


def take(
    prefix: str,
    cameras: list[Camera],
    num_each: int,
    scenes: dict[str, Image.Image],
    rng: np.random.Generator,
) -> Dataset:
    """Let each camera take each sign `num_each` times."""
    taken = Dataset(prefix)
    for camera in cameras:
        for _ in range(num_each):
            for label, sign in enumerate(SIGNS):
                scene = background(camera, scenes, rng)
                taken.files.append(expose(place(sign, scene, rng), camera, rng))
                taken.labels.append(label)
                taken.cameras.append(camera.name)
    return taken


def background(
    camera: Camera, scenes: dict[str, Image.Image], rng: np.random.Generator
) -> Image.Image:
    """Return what stands behind a sign: one flat colour, or a cut of a photograph."""
    width, height = (HEIGHT, WIDTH) if camera.upright else (WIDTH, HEIGHT)
    if camera.photograph is None:
        grey, tint = rng.integers(60, 200), rng.integers(-20, 21, 3)
        return Image.new("RGB", (width, height), tuple((grey + tint).tolist()))
    scene = scenes[camera.photograph]
    zoom = rng.uniform(1.0, 3.0)
    left = rng.uniform(0, scene.width - zoom * width)
    top = rng.uniform(0, scene.height - zoom * height)
    box = (left, top, left + zoom * width, top + zoom * height)
    return scene.resize((width, height), Image.Resampling.BILINEAR, box=box)


def place(sign: Sign, scene: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Put a sign in front of a scene: near the middle, a little turned, with a white rim."""
    width, height = scene.size
    radius = ZOOM * rng.uniform(0.26, 0.4) * min(width, height)
    centre = ZOOM * (np.array([width, height]) / 2 + rng.uniform(-0.08, 0.08, 2) * min(scene.size))
    turn = np.deg2rad(sign.first_deg + rng.normal(0, 4))
    paint = tuple(int(c) for c in np.clip(np.array(sign.colour) + rng.normal(0, 8, 3), 0, 255))
    drawn = Image.new("RGBA", (ZOOM * width, ZOOM * height))
    for size, colour in ((1.0, (245, 245, 245, 255)), (0.86, (*paint, 255))):
        angles = turn + 2 * np.pi * np.arange(sign.corners) / max(sign.corners, 1)
        corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        outline(ImageDraw.Draw(drawn), centre, size * radius, corners, colour)
    drawn = drawn.resize(scene.size, Image.Resampling.BOX)
    return Image.alpha_composite(scene.convert("RGBA"), drawn).convert("RGB")


def outline(
    draw: ImageDraw.ImageDraw,
    centre: NDArray[np.float64],
    radius: float,
    corners: NDArray[np.float64],
    colour: tuple[int, ...],
) -> None:
    """Draw a filled polygon of the given corners on the circle of radius 1; a disc of none."""
    if len(corners):
        draw.polygon(
            [tuple(corner) for corner in (centre + radius * corners).tolist()], fill=colour
        )
    else:
        draw.ellipse([*(centre - radius), *(centre + radius)], fill=colour)


def expose(image: Image.Image, camera: Camera, rng: np.random.Generator) -> bytes:
    """Return the JPEG file that a camera makes of what is in front of it."""
    if camera.blur_px:
        image = image.filter(ImageFilter.GaussianBlur(camera.blur_px))
    light = np.asarray(image, np.float64) * camera.gains
    light = (light - 128) * camera.contrast + 128 + rng.normal(0, camera.noise, light.shape)
    image = Image.fromarray(np.clip(np.rint(light), 0, 255).astype(np.uint8))
    stored = STORED[camera.orientation]
    tags = Image.Exif()
    tags[ORIENTATION] = camera.orientation
    return encode(image.transpose(stored) if stored is not None else image, camera.quality, tags)


def encode(image: Image.Image, quality: int, tags: Image.Exif) -> bytes:
    """Return a JPEG file's bytes."""
    import io

    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, exif=tags)
    return buffer.getvalue()


def photograph(name: str) -> Image.Image:
    """Read one of the two photographs that scikit-learn ships, where it lies."""
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        message = "the backgrounds come from photographs inside sklearn: pip install scikit-learn"
        raise ModuleNotFoundError(message)
    with Image.open(Path(spec.origin).parent / "datasets/images" / name) as image:
        return image.convert("RGB")


def write(taken: Dataset, folder: Path) -> None:
    """Write `manifest.csv` and the files."""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    digits = len(str(len(taken.files) - 1))
    with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("id", "path", "label", "group"))
        for row, jpeg in enumerate(taken.files):
            name = f"{taken.prefix}-{row:0{digits}d}"
            (folder / "files" / f"{name}.jpg").write_bytes(jpeg)
            rows.writerow((name, f"files/{name}.jpg", taken.labels[row], taken.cameras[row]))
