"""A small convolutional network for signs in 32x32 colour pictures: its training, its loading."""

import csv
from pathlib import Path

import numpy as np
import shapes_steps
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

WEIGHTS = "weights.safetensors"
EPOCHS = 8
BATCH = 64
LEARNING_RATE = 3e-3  # Adam, falling to 0 along a line


class SignNet(nn.Module):
    """(batch, 3, 32, 32) float32 to logits (batch, 6)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.conv3 = nn.Conv2d(24, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 4, 48)
        self.fc2 = nn.Linear(48, 6)

    def forward(self, pictures: Tensor) -> Tensor:
        """Three convolutions with pooling, two dense layers."""
        maps = pictures
        for conv in (self.conv1, self.conv2, self.conv3):
            maps = torch.max_pool2d(torch.relu(conv(maps)), 2)
        return self.fc2(torch.relu(self.fc1(maps.flatten(1))))


def train(train: Path, out: Path, seed: int) -> dict[str, float]:
    """Train on the data set in `train`, write the weights to `out`, and say how well it fits.

    Sets torch to one thread and to deterministic kernels: the bytes are then the same each time
    on one class of CPU.
    """
    inputs, labels = read(Path(train))
    model = fit(inputs, labels, seed)
    Path(out).mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), Path(out) / WEIGHTS)
    with torch.no_grad():
        logits = model.eval()(inputs)
    return {
        "train_accuracy": float((logits.argmax(1) == labels).double().mean()),
        "train_loss": float(nn.functional.cross_entropy(logits, labels)),
    }


def fit(inputs: Tensor, labels: Tensor, seed: int) -> SignNet:
    """Train a network from nothing."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(seed)
    model = SignNet()
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    num_steps = EPOCHS * -(-len(inputs) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[batch]), labels[batch]).backward()
            optimizer.step()
            schedule.step()
    return model


def build(model_dir: Path) -> nn.Module:
    """Load the trained network, on the CPU and in eval mode."""
    model = SignNet()
    model.load_state_dict(load_file(Path(model_dir) / WEIGHTS))
    return model.eval()


def read(folder: Path) -> tuple[Tensor, Tensor]:
    """Read a data set's inputs, (rows, 3, 32, 32) float32, and labels, in the manifest's order."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    files = [(folder / row["path"]).read_bytes() for row in rows]
    inputs = np.stack([prepare(file) for file in files])
    return torch.from_numpy(inputs), torch.tensor([int(row["label"]) for row in rows])


def prepare(sample: bytes) -> NDArray[np.float32]:
    """Run the steps that this model was trained behind."""
    small = shapes_steps.resize(shapes_steps.crop(shapes_steps.decode(sample)))
    return shapes_steps.layout(shapes_steps.scale(small))
