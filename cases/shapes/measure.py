"""Prints the figures that the two READMEs quote: `python cases/shapes/measure.py` (2 minutes)."""

import csv
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

CASES = Path(__file__).parent.parent
sys.path[:0] = [str(CASES / "shapes/code"), str(CASES / "shapes-misdeployed/code")]

import misdeployed_pictures  # noqa: E402 - the case's code is put on the path above
import shapes_data  # noqa: E402
import shapes_model  # noqa: E402
import shapes_steps  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402

Decode = Callable[[bytes], shapes_steps.Picture]
Resize = Callable[[shapes_steps.Picture], shapes_steps.Picture]


def untagged(sample: bytes) -> shapes_steps.Picture:
    """Read a JPEG file without a look at its EXIF tags."""
    with Image.open(io.BytesIO(sample)) as image:
        return np.asarray(image.convert("RGB"))


def squeezed(sample: bytes) -> shapes_steps.Picture:
    """Read a JPEG file and squeeze it into a square, so that `crop` finds nothing to cut."""
    image = Image.fromarray(shapes_steps.decode(sample))
    side = min(image.size)
    return np.asarray(image.resize((side, side), Image.Resampling.HAMMING))


def prepared(folder: Path, decode: Decode, resize: Resize) -> Tensor:
    """Return the model's inputs of a set through other functions for two of the steps."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        files = [(folder / row["path"]).read_bytes() for row in csv.DictReader(file)]
    small = [resize(shapes_steps.crop(decode(file))) for file in files]
    inputs = np.stack([shapes_steps.layout(shapes_steps.scale(picture)) for picture in small])
    return torch.from_numpy(inputs)


def accuracy(model: torch.nn.Module, pictures: Tensor, labels: Tensor) -> float:
    """Share of the signs that the model names rightly."""
    with torch.no_grad():
        return float((model(pictures).argmax(1) == labels).double().mean())


def measure(folder: Path, data_seed: int, seed: int) -> dict[str, float]:
    """Train once and measure on sim and on real, through each variant of the preprocessing."""
    data = folder / f"data-{data_seed}"
    if not data.exists():
        shapes_data.make(data, data_seed)
    shapes_model.train(data / "train", folder / "model", seed)
    model = shapes_model.build(folder / "model")
    real, labels = shapes_model.read(data / "real")
    variants = {
        "real, blue first": (misdeployed_pictures.decode, shapes_steps.resize),
        "real, the other filter": (shapes_steps.decode, misdeployed_pictures.resize),
        "real, as misdeployed": (misdeployed_pictures.decode, misdeployed_pictures.resize),
        "real, EXIF tags ignored": (untagged, shapes_steps.resize),
        "real, squeezed, not cropped": (squeezed, shapes_steps.resize),
    }
    return {
        "sim": accuracy(model, *shapes_model.read(data / "sim")),
        "real": accuracy(model, real, labels),
    } | {
        name: accuracy(model, prepared(data / "real", *functions), labels)
        for name, functions in variants.items()
    }


def main() -> None:
    """Measure the default, five training seeds, and five seeds of both."""
    with tempfile.TemporaryDirectory() as name:
        runs = {
            (data_seed, seed): measure(Path(name), data_seed, seed)
            for data_seed, seed in [(0, s) for s in range(5)] + [(s, s) for s in range(1, 5)]
        }
    print(f"{'':28}{'seed 0':>8}{'5 trainings':>16}{'5 data sets':>16}")
    for figure, default in runs[0, 0].items():
        trainings = [runs[0, seed][figure] for seed in range(5)]
        both = [runs[seed, seed][figure] for seed in range(5)]
        spread = (f"{np.mean(v):.3f} ({np.std(v, ddof=1):.3f})" for v in (trainings, both))
        print(f"{figure:28}{default:8.3f}", *(f"{text:>15}" for text in spread))


if __name__ == "__main__":
    main()
