"""A small convolutional network for pictures: its shape stands beside its weights."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn


class PictureNet(nn.Module):
    """(batch, channels, side, side) float32 to logits (batch, classes)."""

    def __init__(self, channels: int, side: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 12, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(12)
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(24)
        self.pool2 = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(24 * (side // 4) ** 2, 48)
        self.drop = nn.Dropout(0.3)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(48, classes)

    def forward(self, pictures: Tensor) -> Tensor:
        """Two convolutions with pooling, two dense layers."""
        maps = self.pool1(self.act(self.norm1(self.conv1(pictures))))
        maps = self.pool2(self.act(self.norm2(self.conv2(maps))))
        return self.fc2(self.drop(self.act(self.fc1(maps.flatten(1)))))


def empty(folder: Path) -> nn.Module:
    """Return the network as it is before any training."""
    shape = json.loads((Path(folder) / "shape.json").read_text(encoding="utf-8"))
    return PictureNet(**shape)


def build(folder: Path) -> nn.Module:
    """Load the trained network."""
    model = empty(folder)
    model.load_state_dict(load_file(Path(folder) / "weights.safetensors"))
    return model.eval()
