"""Prints the figures that the README quotes: `python cases/motion/measure.py` (a minute)."""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "code"))

import motion_data
import motion_model
import torch
from torch import Tensor, nn

NUM_LABELS = (8, 12, 16, 24)
NUM_DRAWS = 8


def accuracy(model: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    """Share of the recordings that the model names rightly."""
    with torch.no_grad():
        return float((model(inputs).argmax(1) == labels).double().mean())


def weightless(folder: Path, seed: int) -> None:
    """Write train and sim as a sensor would give them whose driver removes gravity."""
    for place, (name, size) in enumerate(
        (("train", motion_data.NUM_TRAIN), ("sim", motion_data.NUM_SIM))
    ):
        rng = np.random.default_rng((seed, place))
        made = motion_data.generate(name, size, rng, gravity=0.0)
        motion_data.write(made, folder / name)


def fine_tuned(model: nn.Module, inputs: Tensor, labels: Tensor, *, scratch: bool) -> nn.Module:
    """Fit all layers to a few recordings: 80 steps of Adam on all, the rate falling to 0."""
    if scratch:
        torch.manual_seed(0)
        model = motion_model.MotionNet()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 80)
    for _ in range(80):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        schedule.step()
    return model


def few_labels(model_dir: Path, real: tuple[Tensor, Tensor]) -> dict[str, list[float]]:
    """Fit to a few recordings of each class, judge on the others; once a draw."""
    inputs, labels = real
    found: dict[str, list[float]] = {}
    for num in NUM_LABELS:
        for draw in range(NUM_DRAWS):
            shuffled = torch.randperm(80, generator=torch.Generator().manual_seed(draw))
            own = [shuffled[labels[shuffled] == label][: num // 4] for label in range(4)]
            few = torch.cat(own)
            rest = torch.tensor([row for row in range(80) if row not in set(few.tolist())])
            for scratch in (False, True):
                base = motion_model.build(model_dir)
                model = fine_tuned(base, inputs[few], labels[few], scratch=scratch)
                name = f"{num} labels, {'from scratch' if scratch else 'all layers'}"
                found.setdefault(name, []).append(accuracy(model, inputs[rest], labels[rest]))
    return found


def measure(folder: Path, data_seed: int, seed: int) -> dict[str, float]:
    """Train twice, with gravity and without, and measure on sim and on real."""
    data, floating = folder / f"data-{data_seed}", folder / f"weightless-{data_seed}"
    if not data.exists():
        motion_data.make(data, data_seed)
        weightless(floating, data_seed)
    motion_model.train(data / "train", folder / f"model-{data_seed}-{seed}", seed)
    model = motion_model.build(folder / f"model-{data_seed}-{seed}")
    real, labels = motion_model.read(data / "real")
    upwards = torch.zeros(1, 6, 1)
    upwards[0, 0, 0] = 1.0  # g, along the hanging forearm
    without = motion_model.fit(*motion_model.read(floating / "train"), seed)
    return {
        "sim": accuracy(model, *motion_model.read(data / "sim")),
        "real": accuracy(model, real, labels),
        "real, 1 g added along the forearm": accuracy(model, real + upwards, labels),
        "sim without gravity, trained so": accuracy(without, *motion_model.read(floating / "sim")),
        "real, trained without gravity": accuracy(without, real, labels),
    }


def main() -> None:
    """Measure the default, five training seeds, five seeds of both, and few labels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = {
            (data_seed, seed): measure(folder, data_seed, seed)
            for data_seed, seed in [(0, s) for s in range(5)] + [(s, s) for s in range(1, 5)]
        }
        few = few_labels(folder / "model-0-0", motion_model.read(folder / "data-0/real"))
    print(f"{'':36}{'seed 0':>8}{'5 trainings':>16}{'5 data sets':>16}")
    for figure, default in runs[0, 0].items():
        trainings = [runs[0, seed][figure] for seed in range(5)]
        both = [runs[seed, seed][figure] for seed in range(5)]
        spread = (f"{np.mean(v):.3f} ({np.std(v, ddof=1):.3f})" for v in (trainings, both))
        print(f"{figure:36}{default:8.3f}", *(f"{text:>15}" for text in spread))
    for figure, draws in few.items():
        print(f"{figure:36}{np.mean(draws):8.3f} ({np.std(draws, ddof=1):.3f})")


if __name__ == "__main__":
    main()
