"""Faults of the runtime: precision, modes, weights, operators."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.planted.base import made
from bench.planted.draft import Draft
from bench.planted.kind import kind

Rng = np.random.Generator
Arrays = dict[str, np.ndarray]
Change = Callable[[Arrays], Arrays]
WHERE = "model"
ALL = "digits glyphs signs motion tones heating cells"
NAMED = "digits glyphs signs motion tones cells"


def rewritten(draft: Draft, change: str, change_weights: Change) -> Path:
    """Keep a changed copy of the reference's weights beside them, and return its folder."""
    from safetensors.numpy import load_file, save_file

    folder = draft.made.weights.parent / f"{change}"
    arrays = load_file(draft.made.weights / "weights.safetensors")
    folder.mkdir(parents=True, exist_ok=True)
    changed = {name: np.asarray(array) for name, array in change_weights(dict(arrays)).items()}
    written = folder / f"{os.getpid()}.part"  # whole or not at all: another case may read it
    written.write_text((draft.made.weights / "shape.json").read_text(encoding="utf-8"))
    written.replace(folder / "shape.json")
    save_file(changed, written)
    written.replace(folder / "weights.safetensors")
    return folder


def hooked(names: str, lines: str) -> str:
    """Return lines that put each named part's output through a function."""
    return f"""
def through(part, given, out):
    {lines}
for name, part in model.named_modules():
    if name in {names.split()}:
        part.register_forward_hook(through)
"""


PARTS = "conv1 norm1 conv2 norm2 fc1 fc2"


@kind(WHERE, "half_precision_overflow", ALL)
def half_overflow(draft: Draft, severity: int, rng: Rng) -> None:
    """Both networks hold large numbers inside; only the deployed one keeps them in 16 bits."""
    del rng
    times = np.float32((2.5e4, 6e4, 2e5)[severity])

    def larger(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        for name in ("norm1.weight", "norm1.bias"):
            arrays[name] = arrays[name] * times
        arrays["conv2.weight"] = arrays["conv2.weight"] / times
        return arrays

    draft.weights = rewritten(draft, f"larger-{severity}", larger)
    draft.net(hooked(PARTS, "return out.half().float()"))


@kind(WHERE, "reduced_precision", ALL)
def few_bits(draft: Draft, severity: int, rng: Rng) -> None:
    """Activations keep a few bits of their mantissa."""
    del rng
    bits = (2, 1, 0)[severity]
    lines = f"mantissa, power = torch.frexp(out)\n    steps = 2.0 ** ({bits} + 1)\n"
    lines += "    return torch.ldexp(torch.round(mantissa * steps) / steps, power)"
    draft.net(hooked(PARTS, lines))


@kind(WHERE, "quantised_weights", ALL)
def few_levels(draft: Draft, severity: int, rng: Rng) -> None:
    """Weights on one grid a tensor, of too few levels."""
    del rng
    levels = (3, 2, 1)[severity]
    draft.net(f"""
with torch.no_grad():
    for name, weight in model.named_parameters():
        if weight.ndim > 1:
            step = weight.abs().max() / {levels}
            weight.copy_(torch.round(weight / step) * step)
""")


@kind(WHERE, "quantised_weights", ALL)
def wrong_scale(draft: Draft, severity: int, rng: Rng) -> None:
    """Eight bits whose scale was calibrated on other data: large weights are cut off."""
    del rng
    share = (0.25, 0.15, 0.07)[severity]
    draft.net(f"""
with torch.no_grad():
    for name, weight in model.named_parameters():
        if weight.ndim > 1:
            step = {share} * weight.abs().max() / 127
            weight.copy_(torch.clamp(torch.round(weight / step), -127, 127) * step)
""")


@kind(WHERE, "train_mode", ALL)
def dropout_on(draft: Draft, severity: int, rng: Rng) -> None:
    """Left in training mode; of the milder ones the export made it part of the graph."""
    share = (0.3, 0.6, 0.85)[severity]
    if severity == 2:
        draft.net(f"model.drop.p = {share}\nmodel.drop.train()")
    else:
        draft.net(f"model.drop.forward = lambda given: nn.functional.dropout(given, {share}, True)")


@kind(WHERE, "train_mode batch_dependent", ALL)
def training_left_on(draft: Draft, severity: int, rng: Rng) -> None:
    """Batch norm takes its figures from the batch, and batches are small."""
    size = (4, 2, 2)[severity]
    draft.net(f"""
def by_batch(norm):
    def forward(given):
        return nn.functional.batch_norm(given, None, None, norm.weight, norm.bias, True)
    return forward
if {severity == 2}:
    model.train()
else:
    model.norm1.forward, model.norm2.forward = by_batch(model.norm1), by_batch(model.norm2)
inner = model.forward
def by_parts(batch):
    if len(batch) == 1:
        return inner(batch.repeat(2, *[1] * (batch.ndim - 1)))[:1]
    parts = list(batch.split({size}))
    if len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    return torch.cat([inner(part) for part in parts])
model.forward = by_parts
""")


@kind(WHERE, "batch_dependent", NAMED)
def baked_in_batch(draft: Draft, severity: int, rng: Rng) -> None:
    """A size that tracing made a constant: what comes after the first rows is not computed."""
    del rng
    rows = (128, 64, 32)[severity]
    draft.net(f"""
inner = model.forward
def first(batch):
    out = inner(batch)
    return torch.cat([out[:{rows}], out[:1].expand(max(0, len(out) - {rows}), -1)])
model.forward = first
""")


@kind(WHERE, "batch_dependent", NAMED)
def batch_centred(draft: Draft, severity: int, rng: Rng) -> None:
    """Answers lean on their neighbours: a padding mask that was lost."""
    del rng
    share = (0.5, 0.8, 0.95)[severity]
    draft.net(f"""
inner = model.forward
def leaning(batch):
    out = inner(batch)
    return (1 - {share}) * out + {share} * out.roll(1, 0)
model.forward = leaning
""")


@kind(WHERE, "wrong_weights", ALL)
def stale_checkpoint(draft: Draft, severity: int, rng: Rng) -> None:
    """An early checkpoint, or one between it and the end."""
    from safetensors.numpy import load_file

    del rng
    early = made(draft.base, draft.made.seed, draft.made.weights.parents[3], "half").weights
    old = load_file(early / "weights.safetensors")
    share = np.float32((1.0, 0.85, 0.7)[severity])

    def between(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: (share * old[name] + (1 - share) * array).astype(array.dtype)
            for name, array in arrays.items()
        }

    draft.other_weights = rewritten(draft, f"between-{severity}", between)


@kind(WHERE, "wrong_weights", ALL)
def another_model(draft: Draft, severity: int, rng: Rng) -> None:
    """Weights of another run: of the same shape, and some tensors of this one."""
    seed = (draft.made.seed + 1 + severity) % 5
    other = made(draft.base, seed, draft.made.weights.parents[3]).weights
    from safetensors.numpy import load_file

    theirs = load_file(other / "weights.safetensors")
    parts = (("fc1",), ("conv2", "norm2"), ("conv1", "norm1", "conv2"))[severity]
    del rng

    def mixed(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: theirs[name] if name.split(".")[0] in parts else array
            for name, array in arrays.items()
        }

    draft.other_weights = rewritten(draft, f"mixed-{severity}", mixed)


@kind(WHERE, "weights_not_loaded", ALL)
def not_loaded(draft: Draft, severity: int, rng: Rng) -> None:
    """Keys that do not fit are passed over in silence; what they hold stays as it began."""
    del rng
    parts = (["fc1"], ["conv2", "norm2", "fc1"], ["conv1", "norm1", "conv2", "norm2", "fc1", "fc2"])
    draft.net(f"""
torch.manual_seed(1)
fresh = network.empty(folder).state_dict()
kept = {{
    name: fresh[name] if name.split(".")[0] in {parts[severity]} else tensor
    for name, tensor in model.state_dict().items()
}}
model.load_state_dict(kept)
""")


@kind(WHERE, "operator_variant", NAMED)
def other_operator(draft: Draft, severity: int, rng: Rng) -> None:
    """An operator that another runtime reads otherwise."""
    del rng
    if draft.base.net == "dense_net":
        lines = ("model.act = nn.ELU()", "model.act = nn.Softplus()", "model.act = nn.Hardswish()")
        draft.net(lines[severity])
        return
    size = "2d" if draft.base.net == "picture_net" else "1d"
    mean = f"model.pool1 = nn.AvgPool{size}(2)"
    around = "for conv in (model.conv1, model.conv2):\n    conv.padding_mode = 'circular'"
    other = "model.act = nn.Hardswish()\nmodel.norm1.eps = 1.0\nmodel.norm2.eps = 1.0"
    draft.net((mean, f"{around}\n{mean}", other)[severity])


@kind(WHERE, "operator_variant unknown", NAMED)
def other_slope(draft: Draft, severity: int, rng: Rng) -> None:
    """A rectifier that lets a part of what is negative through."""
    del rng
    draft.net(f"model.act = nn.LeakyReLU({(0.3, 0.5, 0.8)[severity]})")


@kind(WHERE, "unknown", NAMED)
def overwritten_buffer(draft: Draft, severity: int, rng: Rng) -> None:
    """Features in the wrong places: a buffer that was reused too early."""
    del rng
    shift = (1, 5, 11)[severity]
    draft.net(hooked("fc1", f"return out.roll({shift}, 1)"))
