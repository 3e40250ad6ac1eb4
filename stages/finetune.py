"""Fits a torch model to a few labels: its first or its last layer, all of it, or from scratch.

The recipe is the same for all: Adam, a learning rate that falls to 0 along a line, a fixed
number of steps of batches drawn without replacement until all were seen. Only its learning rate is
chosen for each: at a small one a fine-tune stays near its start and looks worse than it is.

- last_layer: only the last module with parameters is fitted; the model stays in evaluation mode, so
  batch-norm statistics and dropout stand still (a running mean that moves "repairs" a scale fault).
- first_block: only the first module with parameters, in evaluation mode likewise.
- whole_model: everything is fitted, in training mode.
- lp_ft: half of the steps as last_layer, then the others as whole_model at a tenth of the rate, so
  that a fresh head does not distort what lies before it (Kumar et al. 2022).
- bn_statistics: nothing is fitted and no label is used; running means and variances of batch
  normalisation are taken anew from the rows (Li et al. 2016; Schneider et al. 2020).
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


FROZEN: tuple[Kind, ...] = ("last_layer", "first_block")
"""Kinds that are fitted in evaluation mode."""
GENTLE = 0.1  # of the learning rate, for what follows a linear probe


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

    def restore(self) -> None:
        """Give the model its own weights back."""
        self.model.load_state_dict(self.own)

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
            kind: any but bias and temperature, which need no model.
            tensors: (rows, ...).
            targets: (rows,) the right output column of each; of a regression its right output.
            learning_rate: at the first step.
            seed: of the batches, of dropout and of new weights.
        """
        import torch

        torch.manual_seed(seed)
        self.model.load_state_dict(self.own)
        if kind == "bn_statistics":
            self.refresh(tensors)
            return
        if kind == "scratch":
            _start_over(self.model)
        given, right, steps = self._tensor(tensors), self._tensor(targets), self._recipe.steps
        if kind == "lp_ft":
            self._descend("last_layer", given, right, learning_rate, steps // 2)
            self._descend("whole_model", given, right, GENTLE * learning_rate, steps - steps // 2)
            return
        self._descend(kind, given, right, learning_rate, steps)

    def _descend(
        self, kind: Kind, given: "torch.Tensor", right: "torch.Tensor", rate: float, steps: int
    ) -> None:
        import torch

        fitted = self._choose(kind)
        optimizer = torch.optim.Adam(self._groups(fitted, rate), fused=True)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
        order = _order(len(right), steps, self._recipe.batch).to(self.device)
        with calling("reference.model"):
            ask, given = self._head(given) if kind == "last_layer" else (self.model, given)
            for batch in order:
                optimizer.zero_grad()
                torch.autograd.backward(self.loss(ask(given[batch]), right[batch]))
                optimizer.step()
                schedule.step()

    def statistics(self) -> "list[torch.nn.Module]":
        """Return the modules that normalise by running statistics."""
        return [
            module
            for module in self.model.modules()
            if getattr(module, "running_mean", None) is not None
        ]

    def refresh(self, tensors: "NDArray[np.float32]") -> None:
        """Take the running statistics anew from these rows; nothing else changes."""
        import torch

        self.model.eval()
        found: Any = self.statistics()
        momenta = [module.momentum for module in found]
        for module in found:
            module.reset_running_stats()
            module.momentum = None  # the plain mean over all batches
            module.train()
        parts = max(1, len(tensors) // 256)
        with torch.no_grad(), calling("reference.model"):
            for part in self._tensor(tensors).tensor_split(parts):
                self.model(part)
        for module, momentum in zip(found, momenta, strict=True):
            module.momentum = momentum
        self.model.eval()

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
        self.model.train(kind not in FROZEN)
        fitted = everything
        if kind in FROZEN:
            layer = self.last_layer() if kind == "last_layer" else self._layers()[0]
            fitted = [p for p in layer.parameters(recurse=False) if p.is_floating_point()]
        chosen = {id(parameter) for parameter in fitted}
        for parameter in everything:
            parameter.requires_grad_(id(parameter) in chosen)
        return fitted

    def last_layer(self) -> "torch.nn.Module":
        """Return the last module that has parameters of its own."""
        return self._layers()[-1]

    def _layers(self) -> "list[torch.nn.Module]":
        return [m for m in self.model.modules() if list(m.parameters(recurse=False))]

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


def _order(num_rows: int, steps: int, batch: int) -> "torch.Tensor":
    """Return (steps, batch) positions: permutations one after the other, cut into full batches."""
    import torch

    size = min(batch, num_rows)
    rounds = -(-steps * size // num_rows)
    drawn = torch.cat([torch.randperm(num_rows) for _ in range(rounds)])
    return drawn[: steps * size].reshape(steps, size)


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
