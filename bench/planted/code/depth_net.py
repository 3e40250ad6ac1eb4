"""A small network of strided convolutions: its shape stands beside its weights."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn


class DepthNet(nn.Module):
    """(batch, channels, side, side) float32 to logits (batch, classes)."""

    def __init__(self, channels: int, side: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 12, 5, stride=2, padding=2)
        self.norm1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(24)
        self.fc1 = nn.Linear(24 * (side // 4) ** 2, 40)
        self.drop = nn.Dropout(0.2)
        self.act = nn.SiLU()
        self.fc2 = nn.Linear(40, classes)

    def forward(self, pictures: Tensor) -> Tensor:
        """Two convolutions that halve, two dense layers."""
        maps = self.act(self.norm1(self.conv1(pictures)))
        maps = self.act(self.norm2(self.conv2(maps)))
        return self.fc2(self.drop(self.act(self.fc1(maps.flatten(1)))))


def empty(folder: Path) -> nn.Module:
    """Return the network as it is before any training."""
    shape = json.loads((Path(folder) / "shape.json").read_text(encoding="utf-8"))
    return DepthNet(**shape)


def build(folder: Path) -> nn.Module:
    """Load the trained network."""
    model = empty(folder)
    model.load_state_dict(load_file(Path(folder) / "weights.safetensors"))
    return model.eval()
