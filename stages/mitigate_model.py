"""Mitigations in front of the candidate's model and inside it: tensors, statistics, last layer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.rearranged import channel_figures, channel_line, fit_rearrangement
from stages.dataset import open_tensor
from stages.mitigate_rows import Answers, CannotTry, Judging, Name, Tried, loading, npz
from stages.probe_targets import Classes, Numbers
from stages.reports.mitigate import Kind

if TYPE_CHECKING:
    from stages.finetune import Finetune

BATCH = 256
RATE = 0.01
STEPS = 80
MOST_PAIRS = 64  # paired rows that a rearrangement is fitted to

Ask = Callable[[NDArray[Any]], NDArray[Any]]  # tensors -> raw outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The candidate's model where it can be asked here, and what turns its outputs into labels."""

    judging: Judging
    model: Any  # a torch module, or any callable
    ask: Ask
    labels: Callable[[NDArray[Any]], NDArray[Any]]
    targets: Classes | Numbers | None  # None: postprocessing does more than rename or scale
    own: Mapping[str, Path]  # real, sim: the candidate's tensors
    reference: Mapping[str, Path]
    parity: str | None  # the difference's name; "": it has none; None: the sides agree
    accept: float

    def tensors(self, name: Name, *, of_reference: bool = False) -> NDArray[Any]:
        """Return the tensors of one set."""
        paths = self.reference if of_reference else self.own
        rows = self.judging.rows[name].positions
        made: NDArray[Any] = np.asarray(
            open_tensor(paths["sim" if name == "sim" else "real"])[rows]
        )
        return made

    def answers(
        self, change: Callable[[NDArray[Any]], NDArray[Any]], ask: Ask | None = None
    ) -> Answers:
        """Change the candidate's tensors, ask the model, and read the labels."""
        return self.judging.each(lambda name: self._said(change(self.tensors(name)), ask))

    def on_reference(self, name: Name) -> NDArray[Any]:
        """Ask the model with the reference's tensors."""
        return self._said(self.tensors(name, of_reference=True), None)

    def _said(self, tensors: NDArray[Any], ask: Ask | None) -> NDArray[Any]:
        if not len(tensors):
            return np.zeros(0)
        parts = range(0, len(tensors), BATCH)
        raw = [(ask or self.ask)(tensors[start : start + BATCH]) for start in parts]
        return self.labels(np.concatenate(raw))

    def finetune(self) -> "Finetune":
        """Return what fits the model anew."""
        import torch

        from stages.finetune import Finetune, Recipe
        from stages.finetune_numbers import FinetuneNumbers

        if not isinstance(self.model, torch.nn.Module) or isinstance(
            self.model, torch.jit.ScriptModule
        ):
            raise CannotTry("The candidate's model is no torch module of the case's own code.")
        kind = FinetuneNumbers if isinstance(self.targets, Numbers) else Finetune
        return kind(self.model, Recipe(steps=STEPS, batch=25), "cpu")


def attempts() -> Iterator[tuple[Kind, Callable[[Built], Tried]]]:
    """Return {kind: what tries it}, in the order in which they are told."""
    yield from (
        ("undo_transform", undo_transform),
        ("align_inputs", align_inputs),
        ("refresh_statistics", refresh_statistics),
        ("last_layer", last_layer),
    )


def undo_transform(built: Built) -> Tried:
    """Put the candidate's tensors back to the reference's by moving and scaling values."""
    if built.parity is None:
        raise CannotTry("Both sides' preprocessing makes the same numbers.")
    theirs = built.tensors("fit")[:MOST_PAIRS]
    ours = built.tensors("fit", of_reference=True)[:MOST_PAIRS]
    found = fit_rearrangement(theirs, ours)
    if found is None or found.explained < built.accept:
        share = 0.0 if found is None else max(0.0, found.explained)
        raise CannotTry(
            f"No move and scale of values turns the candidate's tensors into the reference's: "
            f"{100 * share:.1f} % of the difference is explained."
        )
    named = f" (`{built.parity}`)" if built.parity else ""
    use = (
        'answer = (tensors.reshape(len(tensors), -1)[:, made["places"]] * made["gain"] + '
        'made["offset"]).astype("float32").reshape(len(tensors), *made["shape"])'
    )
    arrays = {
        "places": found.places,
        "gain": found.gain,
        "offset": found.offset,
        "shape": np.array(found.shape, np.int64),
    }
    return Tried(
        kind="undo_transform",
        title=f"The candidate's tensors turned back{named}",
        acts_on="tensors",
        answers=built.answers(found),
        files={"undo_transform.npz": npz(**arrays)},
        load=loading("undo_transform.npz", use),
    )


def align_inputs(built: Built) -> Tried:
    """Bring each channel of the field to the mean and the deviation of simulation."""
    if not len(built.judging.rows["sim"]):
        raise CannotTry("There are no validation rows to align to.")
    mean, deviation = channel_figures(built.tensors("sim", of_reference=True))
    gain, offset = channel_line(built.tensors("fit"), mean, deviation)
    if gain.shape != built.tensors("sim")[0].ravel().shape:
        raise CannotTry("Tensors of simulation and of the field differ in shape.")

    def aligned(tensors: NDArray[Any]) -> NDArray[np.float32]:
        flat = tensors.reshape(len(tensors), -1) * gain + offset
        return flat.reshape(tensors.shape).astype(np.float32)

    use = (
        'answer = (tensors.reshape(len(tensors), -1) * made["gain"] + made["offset"])'
        '.astype("float32").reshape(tensors.shape)'
    )
    return Tried(
        kind="align_inputs",
        title="Each channel brought to simulation's mean and deviation",
        acts_on="tensors",
        answers=built.answers(aligned),
        files={"align_inputs.npz": npz(gain=gain, offset=offset)},
        load=loading("align_inputs.npz", use),
    )


def refresh_statistics(built: Built) -> Tried:
    """Take batch normalisation's running statistics anew from the field; no label is used."""
    finetune = built.finetune()
    if not finetune.statistics():
        raise CannotTry("No layer normalises by running statistics.")
    finetune.refresh(np.asarray(built.tensors("fit"), np.float32))
    title = "Batch normalisation's statistics taken from the field, without labels"
    return _weights(built, finetune, "refresh_statistics", title, 0)


def last_layer(built: Built) -> Tried:
    """Fit the last layer to the labels of role fit."""
    finetune, targets = built.finetune(), built.targets
    if targets is None:
        raise CannotTry("candidate.postprocess does more than rename or scale the output.")
    rows = built.judging.rows["fit"]
    tensors = np.asarray(built.tensors("fit"), np.float32)
    if isinstance(targets, Numbers) and finetune.outputs(tensors[:1]).shape[1] != 1:
        raise CannotTry("The model has several outputs; one number is fitted.")
    wanted = targets.targets(rows.labels)
    finetune.fit("last_layer", tensors, wanted, learning_rate=RATE, seed=0)
    return _weights(
        built, finetune, "last_layer", "The last layer fitted to real labels", len(rows)
    )


def _weights(built: Built, finetune: "Finetune", kind: Kind, title: str, fitted: int) -> Tried:
    """Keep the tensors of the state that changed."""
    from safetensors.numpy import save

    made = built.answers(lambda tensors: np.asarray(tensors, np.float32), finetune.outputs)
    state = finetune.model.state_dict()
    changed = {
        name: value.detach().cpu().numpy().copy()
        for name, value in state.items()
        if not bool((value == finetune.own[name]).all())
    }
    finetune.restore()
    use = "answer = {name: made[name] for name in sorted(made)}  # of the model's state, by name"
    return Tried(
        kind=kind,
        title=title,
        acts_on="model",
        answers=made,
        fitted=fitted,
        files={f"{kind}.safetensors": save(changed)},
        load=(
            f'from safetensors.numpy import load_file; made = load_file("{kind}.safetensors")',
            use,
        ),
    )
