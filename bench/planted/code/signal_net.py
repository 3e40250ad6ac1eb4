"""A small convolutional network for signals: its shape stands beside its weights."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn


class SignalNet(nn.Module):
    """(batch, channels, moments) float32 to logits (batch, classes)."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(channels, 16, 7, padding=3)
        self.norm1 = nn.BatchNorm1d(16)
        self.pool1 = nn.MaxPool1d(2)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.norm2 = nn.BatchNorm1d(32)
        self.pool2 = nn.AdaptiveAvgPool1d(2)
        self.fc1 = nn.Linear(64, 32)
        self.drop = nn.Dropout(0.3)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(32, classes)

    def forward(self, signals: Tensor) -> Tensor:
        """Two convolutions with pooling over time, two dense layers."""
        maps = self.pool1(self.act(self.norm1(self.conv1(signals))))
        maps = self.pool2(self.act(self.norm2(self.conv2(maps))))
        return self.fc2(self.drop(self.act(self.fc1(maps.flatten(1)))))


def empty(folder: Path) -> nn.Module:
    """Return the network as it is before any training."""
    shape = json.loads((Path(folder) / "shape.json").read_text(encoding="utf-8"))
    return SignalNet(**shape)


def build(folder: Path) -> nn.Module:
    """Load the trained network."""
    model = empty(folder)
    model.load_state_dict(load_file(Path(folder) / "weights.safetensors"))
    return model.eval()
