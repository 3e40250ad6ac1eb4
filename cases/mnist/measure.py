"""Prints the figures that the two READMEs quote: `python cases/mnist/measure.py [SEEDS]`."""

import sys
import tempfile
from pathlib import Path

import numpy as np

CASES = Path(__file__).parent.parent
sys.path[:0] = [str(CASES / "mnist/code"), str(CASES / "mnist-misdeployed/code")]

import mnist_data  # noqa: E402 - the case's code is put on the path above
import mnist_model  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402


def accuracy(model: torch.nn.Module, pictures: Tensor, labels: Tensor) -> float:
    """Share of the pictures that the model reads rightly."""
    with torch.no_grad():
        answers = torch.cat([model(batch).argmax(1) for batch in pictures.split(500)])
    return float((answers == labels).double().mean())


def centred(pictures: Tensor) -> Tensor:
    """Shift each picture by whole pixels so that its ink's middle is the picture's."""
    side = pictures.shape[-1]
    at = torch.arange(side, dtype=torch.float32)
    ink = pictures.sum((1, 2, 3)).clamp(min=1e-6)
    moved = []
    for picture, whole in zip(pictures, ink, strict=True):
        down, right = ((picture[0].sum(axis) * at).sum() / whole for axis in (1, 0))
        shifts = [round((side - 1) / 2 - float(middle)) for middle in (down, right)]
        moved.append(torch.roll(picture, shifts, (1, 2)))
    return torch.stack(moved)


def measure(data: Path, randomised: Path, folder: Path, seed: int) -> dict[str, float]:
    """Train on either simulator, and measure on real digits through each preprocessing."""
    mnist_model.train(data / "train", folder / "plain", seed)
    mnist_model.train(randomised / "train", folder / "randomised", seed)
    plain, other = (mnist_model.build(folder / name) for name in ("plain", "randomised"))
    real, labels = mnist_model.read(data / "real")
    return {
        "sim": accuracy(plain, *mnist_model.read(data / "sim")),
        "real": accuracy(plain, real, labels),
        "real, trained on randomised": accuracy(other, real, labels),
        "real inverted": accuracy(plain, 1 - real, labels),
        "real transposed": accuracy(plain, real.transpose(2, 3), labels),
        "real x255": accuracy(plain, real * 255, labels),
        "real /256": accuracy(plain, real * (255 / 256), labels),
        "real inverted /256": accuracy(plain, (1 - real) * (255 / 256), labels),
        "real centred by ink": accuracy(plain, centred(real), labels),
    }


def main() -> None:
    """Measure over training seeds."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    with tempfile.TemporaryDirectory() as name:
        data, randomised = Path(name) / "plain", Path(name) / "randomised"
        mnist_data.make(data, 0)
        mnist_data.make(randomised, 0, mnist_data.RANDOMISED)
        runs = [measure(data, randomised, Path(name) / "model", seed) for seed in seeds]
    print(f"{'':30}{'seed 0':>8}{f'{len(runs)} trainings':>16}")
    for figure, default in runs[0].items():
        found = [run[figure] for run in runs]
        spread = f"{np.mean(found):.3f} ({np.std(found, ddof=1) if len(found) > 1 else 0:.3f})"
        print(f"{figure:30}{default:8.3f}{spread:>16}")


if __name__ == "__main__":
    main()
