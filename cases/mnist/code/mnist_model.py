"""A small convolutional network for 28x28 digits: how it is trained, and how it is loaded."""

import csv
from pathlib import Path

import mnist_steps
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

WEIGHTS = "weights.safetensors"
EPOCHS = 4
BATCH = 64
LEARNING_RATE = 3e-3  # Adam, falling to 0 along a line


class DigitNet(nn.Module):
    """(batch, 1, 28, 28) float32 to logits (batch, 10)."""

    def __init__(self) -> None:
        super().__init__()
        # No bias before the first dense layer: brighter or darker ink scales all features alike.
        self.conv1 = nn.Conv2d(1, 8, 5, padding=2, bias=False)
        self.conv2 = nn.Conv2d(8, 16, 5, padding=2, bias=False)
        self.fc1 = nn.Linear(16 * 7 * 7, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, pictures: Tensor) -> Tensor:
        """Two convolutions with pooling, two dense layers."""
        maps = torch.max_pool2d(torch.relu(self.conv1(pictures)), 2)
        maps = torch.max_pool2d(torch.relu(self.conv2(maps)), 2)
        return self.fc2(torch.relu(self.fc1(maps.flatten(1))))


def train(train: Path, out: Path, seed: int) -> dict[str, float]:
    """Train on the data set in `train`, write the weights to `out`, and say how well it fits.

    Sets torch to one thread and to deterministic kernels: the bytes are then the same each time
    on one class of CPU.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(seed)
    inputs, labels = read(Path(train))
    model = DigitNet()
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    num_steps = EPOCHS * -(-len(inputs) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[batch]), labels[batch]).backward()
            optimizer.step()
            schedule.step()
    Path(out).mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), Path(out) / WEIGHTS)
    with torch.no_grad():
        logits = model.eval()(inputs)
    return {
        "train_accuracy": float((logits.argmax(1) == labels).double().mean()),
        "train_loss": float(nn.functional.cross_entropy(logits, labels)),
    }


def build(model_dir: Path) -> nn.Module:
    """Load the trained network, on the CPU and in eval mode."""
    model = DigitNet()
    model.load_state_dict(load_file(Path(model_dir) / WEIGHTS))
    return model.eval()


def read(folder: Path) -> tuple[Tensor, Tensor]:
    """Read a data set's inputs, (rows, 1, 28, 28) float32, and labels, in the manifest's order."""
    samples = np.load(folder / "samples.npy", allow_pickle=False)
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    inputs = np.stack([prepare(samples[int(row["row"])]) for row in rows])
    return torch.from_numpy(inputs), torch.tensor([int(row["label"]) for row in rows])


def prepare(sample: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Run the steps that this model was trained behind."""
    return mnist_steps.layout(mnist_steps.scale(mnist_steps.decode(sample)))
