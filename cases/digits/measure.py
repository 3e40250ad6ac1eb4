"""Prints the figures that the two READMEs quote: `python cases/digits/measure.py`."""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CASES = Path(__file__).parent.parent
sys.path[:0] = [str(CASES / "digits/code"), str(CASES / "digits-misdeployed/code")]

import digits_data  # noqa: E402 - the case's code is put on the path above
import digits_model  # noqa: E402
import misdeployed_steps  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402


def box(data: Path, out: Path) -> None:
    """Copy train, sim and real with each digit's inked box stretched over the whole 8x8 picture."""
    for name in ("train", "sim", "real"):
        shutil.copytree(data / name, out / name)
        samples = np.load(data / name / "samples.npy")
        np.save(out / name / "samples.npy", np.stack([stretch(sample) for sample in samples]))


def stretch(sample: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Stretch the box of the pixels above a quarter of full ink."""
    rows, columns = (
        np.flatnonzero((sample > digits_data.FULL_INK / 4).any(axis)) for axis in (1, 0)
    )
    edges = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    resized = Image.fromarray(sample).resize((8, 8), Image.Resampling.BILINEAR, box=edges)
    return np.asarray(resized)


def accuracy(model: torch.nn.Module, pictures: Tensor, labels: Tensor) -> float:
    """Share of the pictures that the model reads rightly."""
    with torch.no_grad():
        return float((model(pictures).argmax(1) == labels).double().mean())


def measure(folder: Path, data_seed: int, seed: int) -> dict[str, float]:
    """Train once and measure on sim and on real, through each variant of the preprocessing."""
    data = folder / f"data-{data_seed}"
    if not data.exists():
        digits_data.make(data, data_seed)
        box(data, data / "boxed")
    digits_model.train(data / "train", folder / "model", seed)
    model = digits_model.build(folder / "model")
    sim, sim_labels = digits_model.read(data / "sim")
    real, labels = digits_model.read(data / "real")
    raw = np.load(data / "real/samples.npy")
    digits_model.train(data / "boxed/train", folder / "boxed", seed)
    boxed = digits_model.build(folder / "boxed")
    turned = torch.from_numpy(np.stack([misdeployed_steps.decode(s) for s in raw])[:, None]) / 16
    return {
        "sim": accuracy(model, sim, sim_labels),
        "real": accuracy(model, real, labels),
        "real x255": accuracy(model, real * 255, labels),
        "real transposed": accuracy(model, turned, labels),
        "real transposed x255": accuracy(model, turned * 255, labels),
        "real inverted": accuracy(model, 1 - real, labels),
        "sim, all boxed": accuracy(boxed, *digits_model.read(data / "boxed/sim")),
        "real, all boxed": accuracy(boxed, *digits_model.read(data / "boxed/real")),
    }


def main() -> None:
    """Measure the default, five training seeds, and five seeds of both."""
    with tempfile.TemporaryDirectory() as name:
        runs = {
            (data_seed, seed): measure(Path(name), data_seed, seed)
            for data_seed, seed in [(0, s) for s in range(5)] + [(s, s) for s in range(1, 5)]
        }
    print(f"{'':22}{'seed 0':>8}{'5 trainings':>16}{'5 data sets':>16}")
    for figure, default in runs[0, 0].items():
        trainings = [runs[0, seed][figure] for seed in range(5)]
        both = [runs[seed, seed][figure] for seed in range(5)]
        spread = (f"{np.mean(v):.3f} ({np.std(v, ddof=1):.3f})" for v in (trainings, both))
        print(f"{figure:22}{default:8.3f}", *(f"{text:>15}" for text in spread))


if __name__ == "__main__":
    main()
