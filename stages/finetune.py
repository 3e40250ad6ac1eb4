"""Fits a torch model to a few labels: its last layer, all of it, or from scratch.

The recipe is the same for all three: Adam, a learning rate that falls to 0 along a line, a fixed
number of steps of batches drawn without replacement until all were seen. Only its learning rate is
chosen for each: at a small one a fine-tune stays near its start and looks worse than it is.

- last_layer: only the last module with parameters is fitted; the model stays in evaluation mode, so
  batch-norm statistics and dropout stand still (a running mean that moves "repairs" a scale fault).
- whole_model: everything is fitted, in training mode.
- scratch: the same after every module's `reset_parameters`; parameters of modules without one are
  drawn from N(0, 0.02^2).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sides.case_code import calling
from stages.reports.probe import Kind

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a fit is done."""

    steps: int
    batch: int


class Finetune:
    """A model that is fitted again and again, each time from its own weights.

    Args:
        model: a torch module that gives (rows, outputs): logits or (log-)probabilities.
        recipe: the same for all fits.
        device: cpu or cuda.
    """

    def __init__(self, model: "torch.nn.Module", recipe: Recipe, device: str) -> None:
        self.model = model.to(device)
        self._recipe = recipe
        self.device = device
        self.own = {key: value.clone() for key, value in model.state_dict().items()}

    def outputs(self, tensors: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return what the model answers now, (rows, outputs), in evaluation mode."""
        import torch

        self.model.eval()
        with torch.no_grad(), calling("reference.model"):
            parts = [self.model(self._tensor(part)) for part in _parts(tensors, 1024)]
            return torch.cat(parts).float().cpu().numpy()

    def fit(
        self,
        kind: Kind,
        tensors: "NDArray[np.float32]",
        targets: "NDArray[Any]",
        *,
        learning_rate: float,
        seed: int,
    ) -> None:
        """Fit once, starting from the model's own weights or from scratch.

        Args:
            kind: last_layer, whole_model or scratch.
            tensors: (rows, ...).
            targets: (rows,) the right output column of each; of a regression its right output.
            learning_rate: at the first step.
            seed: of the batches, of dropout and of new weights.
        """
        import torch

        torch.manual_seed(seed)
        self.model.load_state_dict(self.own)
        if kind == "scratch":
            _start_over(self.model)
        fitted = self._choose(kind)
        given, right = self._tensor(tensors), self._tensor(targets)
        optimizer = torch.optim.Adam(self._groups(fitted, learning_rate), fused=True)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, self._recipe.steps)
        order = _order(len(targets), self._recipe).to(self.device)
        with calling("reference.model"):
            ask, given = self._head(given) if kind == "last_layer" else (self.model, given)
            for batch in order:
                optimizer.zero_grad()
                torch.autograd.backward(self.loss(ask(given[batch]), right[batch]))
                optimizer.step()
                schedule.step()

    def loss(self, outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        """Say how wrong outputs are, (rows, outputs) against (rows,)."""
        return cross_entropy(outputs, targets)

    def last_rate(self) -> float:
        """By what the last layer's learning rate is multiplied."""
        return 1.0

    def _groups(self, fitted: "list[torch.nn.Parameter]", rate: float) -> list[dict[str, Any]]:
        last = {id(parameter) for parameter in self.last_layer().parameters(recurse=False)}
        before = [parameter for parameter in fitted if id(parameter) not in last]
        after = [parameter for parameter in fitted if id(parameter) in last]
        if self.last_rate() == 1:
            return [{"params": fitted, "lr": rate}]
        groups = [{"params": before, "lr": rate}, {"params": after, "lr": rate * self.last_rate()}]
        return [group for group in groups if group["params"]]

    def _choose(self, kind: Kind) -> "list[torch.nn.Parameter]":
        """Switch modes and gradients, and return the parameters to fit."""
        everything = [p for p in self.model.parameters() if p.is_floating_point()]
        self.model.train(kind != "last_layer")
        fitted = everything
        if kind == "last_layer":
            fitted = list(self.last_layer().parameters(recurse=False))
        chosen = {id(parameter) for parameter in fitted}
        for parameter in everything:
            parameter.requires_grad_(id(parameter) in chosen)
        return fitted

    def last_layer(self) -> "torch.nn.Module":
        """Return the last module that has parameters of its own."""
        return [m for m in self.model.modules() if list(m.parameters(recurse=False))][-1]

    def _head(self, given: "torch.Tensor") -> "tuple[torch.nn.Module, torch.Tensor]":
        """Return the last layer and what it is given, where the model ends with it.

        All before it stands still, so it need not run at each step. Else the whole model.
        """
        import torch

        layer, seen = self.last_layer(), []
        hook = layer.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs))
        with torch.no_grad():
            answer = self.model(given)
            hook.remove()
            alone = len(seen) == 1 and len(seen[0]) == 1 and len(seen[0][0]) == len(given)
            if alone and torch.equal(layer(seen[0][0]), answer):
                return layer, seen[0][0]
        return self.model, given

    def _tensor(self, values: "NDArray[Any]") -> "torch.Tensor":
        import numpy as np
        import torch

        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)


def _parts(values: "NDArray[Any]", size: int) -> "list[NDArray[Any]]":
    return [values[start : start + size] for start in range(0, len(values), size)]


def _order(num_rows: int, recipe: Recipe) -> "torch.Tensor":
    """Return (steps, batch) positions: permutations one after the other, cut into full batches."""
    import torch

    size = min(recipe.batch, num_rows)
    rounds = -(-recipe.steps * size // num_rows)
    drawn = torch.cat([torch.randperm(num_rows) for _ in range(rounds)])
    return drawn[: recipe.steps * size].reshape(recipe.steps, size)


def _start_over(model: "torch.nn.Module") -> None:
    import torch

    for module in model.modules():
        reset = getattr(module, "reset_parameters", getattr(module, "_reset_parameters", None))
        if callable(reset):
            reset()
            continue
        for parameter in module.parameters(recurse=False):
            with torch.no_grad():
                parameter.normal_(0.0, 0.02)


def cross_entropy(outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
    """Cross-entropy; a model that ends in a softmax is asked for the logarithm first.

    Log-probabilities need nothing: their log-softmax is themselves.
    """
    import torch

    with torch.no_grad():
        sums = outputs.sum(dim=1)
        ends_in_softmax = bool((outputs >= 0).all() and torch.allclose(sums, sums.new_ones(())))
    logits = outputs.clamp_min(1e-12).log() if ends_in_softmax else outputs
    return torch.nn.functional.cross_entropy(logits, targets)
