"""The blind part's faults of the network and behind it, and differences that harm nobody."""

import json
import shutil
from typing import Any

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import kind

SETS = "digits glyphs signs wheel tones depth"
ALL = f"{SETS} heating"


def _served(draft: Draft, key: str, change: Any) -> None:
    """Let the candidate load weights that a function changed."""
    from safetensors.torch import load_file, save_file

    folder = draft.weights.parents[1] / "changed" / key
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(draft.weights, folder)
    weights = load_file(folder / "weights.safetensors")
    change(weights, json.loads((folder / "shape.json").read_text(encoding="utf-8")))
    save_file({name: tensor.contiguous() for name, tensor in weights.items()},
              folder / "weights.safetensors")  # fmt: skip
    draft.other_weights = folder


@kind("model", "stale_statistics batch_norm", on=f"{ALL} motion cells")
def statistics_half_forgotten(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The export took running statistics before they had settled: near to mean 0, variance 1."""
    kept = (0.9, 0.7, 0.5)[severity]

    def forget(weights: dict[str, Any], shape: dict[str, Any]) -> None:
        for name, tensor in weights.items():
            if name.endswith("running_mean"):
                weights[name] = kept * tensor
            if name.endswith("running_var"):
                weights[name] = kept * tensor + (1 - kept)

    _served(draft, f"forgotten-{severity}", forget)


@kind("model", "activation_clipped saturated", on=f"{ALL} motion cells")
def activations_clipped(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The runtime's integer range was calibrated too tightly: activations end at a ceiling."""
    draft.net(
        f"model.act = nn.Sequential(model.act, nn.Hardtanh(-9.0, {(1.0, 0.5, 0.2)[severity]}))"
    )


@kind("model", "activation wrong_activation", on=f"{ALL} motion cells")
def another_activation(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The rewritten network bends otherwise: a leak that was never there, or a softer bend."""
    bend = ("nn.LeakyReLU(0.3)", "nn.Softplus()", "nn.Tanh()")[severity]
    draft.net(f"model.act = {bend}")


@kind("model", "kernel_flipped weights", on="digits glyphs signs tones depth")
def kernels_turned(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Convolution for correlation: a converter turned the kernels by half a turn."""
    layers = (("conv1",), ("conv2",), ("conv1", "conv2"))[severity]

    def turn(weights: dict[str, Any], shape: dict[str, Any]) -> None:
        for layer in layers:
            tensor = weights[f"{layer}.weight"]
            weights[f"{layer}.weight"] = tensor.flip(tuple(range(2, tensor.ndim)))

    _served(draft, f"turned-{severity}", turn)


@kind("model", "flatten_order weight_layout", on="digits glyphs signs motion tones wheel depth")
def flattened_channels_last(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The first dense layer expects its inputs channel by channel, and gets them place by place."""

    def reorder(weights: dict[str, Any], shape: dict[str, Any]) -> None:
        num, tensor = len(weights["norm2.bias"]), weights["fc1.weight"]
        by_place = tensor.reshape(len(tensor), num, -1).transpose(1, 2)
        weights["fc1.weight"] = by_place.reshape(tensor.shape)

    _served(draft, f"reordered-{severity}", reorder)


@kind("model", "pooling average_pooling", on="digits glyphs signs motion")
def pooled_by_the_mean(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The target has no maximum pooling; somebody put a mean in its place."""
    size = "2d" if draft.base.modality == "picture" else "1d"
    draft.net(f"model.pool1 = nn.AvgPool{size}(2)")
    if size == "2d":
        draft.net("model.pool2 = nn.AvgPool2d(2)")


@kind("postprocessing", "top_k wrong_argmax", on=SETS)
def first_of_the_best_few(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """An unordered top-k: of the best few classes, the one with the lowest number is said."""
    draft.answer(f"""
        few = np.argpartition(outputs, -{2 + (severity > 1)}, axis=1)[:, -{2 + (severity > 1)}:]
        score = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        near = np.take_along_axis(score, few, axis=1) > {(1e-1, 1e-2, 1e-4)[severity]}
        labels = np.where(near, few, 99).min(axis=1)
    """)


@kind("postprocessing", "smoothed_votes voting", on=SETS)
def votes_of_neighbours(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Answers are smoothed over time as in a video, though each row is a scene of its own."""
    share = (0.5, 0.8, 1.0)[severity]
    draft.answer(f"""
        likely = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        before, after = np.roll(likely, 1, axis=0), np.roll(likely, -1, axis=0)
        labels = (likely + {share} * (before + after)).argmax(axis=1)
    """)


@kind("postprocessing", "rounded_scores quantise rounding", on=ALL)
def answers_in_coarse_steps(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Scores are cut to a few whole steps before they are compared: equals go to the first."""
    if draft.base.classes is None:
        draft.answer(
            f"labels = np.floor(outputs[:, 0] / {(2, 4, 6)[severity]}) * {(2, 4, 6)[severity]}"
        )
        return
    draft.answer(
        f"labels = np.minimum(np.trunc(outputs / 2), {(2, 1, 0)[severity]}).argmax(axis=1)"
    )


@kind("postprocessing", "prior_correction class_bias", on=SETS)
def priors_of_another_site(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Scores are corrected by how common classes are elsewhere: some are hardly ever said."""
    bias = rng.normal(0, (2.0, 4.0, 7.0)[severity], int(draft.base.classes or 1)).round(2).tolist()
    draft.answer(f"labels = (outputs + np.array({bias})).argmax(axis=1)")


@kind("postprocessing", "off_by_one row_order stale_answer", on=ALL)
def answer_of_the_row_before(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """A pipelined runtime gives each request the answer of the one before, in part of the time."""
    part = (0.15, 0.4, 1.0)[severity]
    said = "outputs[:, 0]" if draft.base.classes is None else "outputs.argmax(axis=1)"
    draft.answer(f"""
        labels = {said}
        late = np.arange(len(labels)) % 20 < {round(20 * part)}
        labels = np.where(late, np.roll(labels, 1), labels)
    """)


@kind("postprocessing", "softmax_axis", on=SETS)
def shares_over_the_rows(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The softmax runs down each batch rather than along the classes."""
    size = (16, 8, 4)[severity]
    draft.answer(f"""
        parts = []
        for start in range(0, len(outputs), {size}):
            part = outputs[start : start + {size}]
            shares = np.exp(part - part.max(axis=0))
            parts.append((shares / shares.sum(axis=0)).argmax(axis=1))
        labels = np.concatenate(parts)
    """)
