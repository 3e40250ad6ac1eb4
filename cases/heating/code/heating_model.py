"""A small dense network from a composition to a heating value: its training, and its loading."""

import csv
from pathlib import Path

import heating_steps
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

WEIGHTS = "weights.safetensors"
EPOCHS = 40
BATCH = 100
LEARNING_RATE = 1e-2  # Adam, falling to 0 along a line
# Round numbers near those of the training set: what case.yaml gives to the step `standardise`.
MEAN = (48.0, 5.3, 37.0, 1.1, 0.3)
DEVIATION = (12.0, 1.3, 12.0, 1.1, 0.35)


class HeatNet(nn.Module):
    """(batch, 5) float32 to MJ/kg, (batch, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(5, 32)
        self.fc2 = nn.Linear(32, 32)
        self.head = nn.Linear(32, 1)

    def forward(self, compositions: Tensor) -> Tensor:
        """Two dense layers, and one number that is brought to the range of fuels."""
        hidden = torch.relu(self.fc2(torch.relu(self.fc1(compositions))))
        return 18 + 4 * self.head(hidden)


def train(train: Path, out: Path, seed: int) -> dict[str, float]:
    """Train on the data set in `train`, write the weights to `out`, and say how well it fits.

    Sets torch to one thread and to deterministic kernels: the bytes are then the same each time
    on one class of CPU.
    """
    inputs, values = read(Path(train))
    model = fit(inputs, values, seed)
    Path(out).mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), Path(out) / WEIGHTS)
    with torch.no_grad():
        errors = model.eval()(inputs)[:, 0] - values
    return {"train_mae": float(errors.abs().double().mean())}


def fit(inputs: Tensor, values: Tensor, seed: int) -> HeatNet:
    """Train a network from nothing, on squared errors."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(seed)
    model = HeatNet()
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    num_steps = EPOCHS * -(-len(inputs) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs[batch])[:, 0], values[batch]).backward()
            optimizer.step()
            schedule.step()
    return model


def build(model_dir: Path) -> nn.Module:
    """Load the trained network, on the CPU and in eval mode."""
    model = HeatNet()
    model.load_state_dict(load_file(Path(model_dir) / WEIGHTS))
    return model.eval()


def read(folder: Path) -> tuple[Tensor, Tensor]:
    """Read a data set's inputs, (rows, 5) float32, and values in MJ/kg, in the manifest's order."""
    samples = np.load(folder / "samples.npy", allow_pickle=False)
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    inputs = np.stack([prepare(samples[int(row["row"])]) for row in rows])
    return torch.from_numpy(inputs), torch.tensor([float(row["label"]) for row in rows])


def prepare(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Run the steps that this model was trained behind."""
    ordered = heating_steps.select(heating_steps.decode(sample))
    return heating_steps.standardise(ordered, MEAN, DEVIATION)
