"""Fits a torch model of one output to a few targets, whatever unit it answers in.

The recipe is that of `stages.finetune` with the squared error of standardised targets. A model's
last layer is as large as the unit asks for, so its learning rate is that of a model that answers in
standard deviations: times the targets' deviation, over what the model itself multiplies its last
layer by. From scratch the answers are in standard deviations from the start, and turned into the
unit afterwards; else a fresh start would first have to find the mean, and look worse than it is.
"""

from typing import TYPE_CHECKING, Any

from stages.finetune import Finetune
from stages.reports.probe import Kind

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

STRAIGHT = 1e-3  # of the answers' deviation: what may be left of a straight line


class FinetuneNumbers(Finetune):
    """A model of a number, fitted again and again, each time from its own weights."""

    _mean, _deviation = 0.0, 1.0  # of the targets that are fitted
    _gain, _offset = 1.0, 0.0  # what the model itself makes of its last layer's output
    _turned = False  # its answers are standard deviations as yet

    def fit(
        self,
        kind: Kind,
        tensors: "NDArray[np.float32]",
        targets: "NDArray[Any]",
        *,
        learning_rate: float,
        seed: int,
    ) -> None:
        """Fit once; see `Finetune.fit`."""
        import numpy as np

        self._mean, self._deviation = float(np.mean(targets)), float(np.std(targets)) or 1.0
        self._turned = False
        self._gain, self._offset = self._look_at_its_end(tensors)
        self._turned = kind == "scratch"
        right = np.asarray(targets, dtype=np.float32)
        super().fit(kind, tensors, right, learning_rate=learning_rate, seed=seed)

    def restore(self) -> None:
        """Give the model its own weights back, in its own unit."""
        super().restore()
        self._turned = False

    def outputs(self, tensors: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return what the model answers now, (rows, 1), in its own unit."""
        raw = super().outputs(tensors)
        if not self._turned:
            return raw
        in_deviations = (raw - self._offset) / self._gain
        return in_deviations * self._deviation + self._mean

    def loss(self, outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        """Return the mean squared error in the targets' variances."""
        answers = outputs[:, 0]
        if self._turned:
            answers = (answers - self._offset) / self._gain * self._deviation + self._mean
        return ((answers - targets) / self._deviation).square().mean()

    def last_rate(self) -> float:
        """Scale with the unit; from scratch there is none yet."""
        return 1.0 if self._turned else self._deviation / abs(self._gain)

    def _look_at_its_end(self, tensors: "NDArray[np.float32]") -> tuple[float, float]:
        """Find the straight line from the last layer's output to the answer: (1, 0) without."""
        import numpy as np

        self.model.load_state_dict(self.own)
        seen: list[Any] = []
        hook = self.last_layer().register_forward_hook(
            lambda _module, _inputs, made: seen.append(made.detach().float().cpu().numpy())
        )
        answers = super().outputs(tensors)[:, 0].astype(np.float64)
        hook.remove()
        layer = np.concatenate([part.reshape(len(part), -1) for part in seen]).astype(np.float64)
        if layer.shape != (len(answers), 1) or not np.isfinite(layer).all():
            return 1.0, 0.0
        if layer.std() == 0 or answers.std() == 0:
            return 1.0, 0.0
        gain, offset = np.polyfit(layer[:, 0], answers, 1)
        left = np.std(answers - gain * layer[:, 0] - offset)
        return (float(gain), float(offset)) if left <= STRAIGHT * answers.std() else (1.0, 0.0)
