"""A small dense network for rows of a table: its shape stands beside its weights."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn


class DenseNet(nn.Module):
    """(batch, columns) float32 to (batch, outputs): logits, or offset + spread times a number."""

    def __init__(self, columns: int, outputs: int, offset: float, spread: float) -> None:
        super().__init__()
        self.conv1 = nn.Linear(columns, 32)
        self.norm1 = nn.BatchNorm1d(32)
        self.conv2 = nn.Linear(32, 32)
        self.norm2 = nn.BatchNorm1d(32)
        self.fc1 = nn.Linear(32, 24)
        self.drop = nn.Dropout(0.1)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(24, outputs)
        self.offset, self.spread = offset, spread

    def forward(self, rows: Tensor) -> Tensor:
        """Three dense layers, and the output's own range."""
        hidden = self.act(self.norm1(self.conv1(rows)))
        hidden = self.act(self.norm2(self.conv2(hidden)))
        last = self.fc2(self.drop(self.act(self.fc1(hidden))))
        return self.offset + self.spread * last


def empty(folder: Path) -> nn.Module:
    """Return the network as it is before any training."""
    shape = json.loads((Path(folder) / "shape.json").read_text(encoding="utf-8"))
    return DenseNet(**shape)


def build(folder: Path) -> nn.Module:
    """Load the trained network."""
    model = empty(folder)
    model.load_state_dict(load_file(Path(folder) / "weights.safetensors"))
    return model.eval()
