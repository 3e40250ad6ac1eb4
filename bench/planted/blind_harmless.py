"""The blind part's healthy cases: range pictures with nothing planted, or what harms nobody."""

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import kind


@kind("none", "none", on="depth")
def left_as_it_was(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Nothing is planted."""


@kind("none", "none", on="depth")
def metres_and_back(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """One step reads metres where it read millimetres, and a later one allows for it."""
    draft.after("decode", "value = value / np.float32(1000)")
    draft.after("normalise", "value = (sample * np.float32(1000) - 40) / np.float32(80)")


@kind("none", "none", on="depth")
def holes_filled_by_the_mean(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """Where nothing came back stands the mean of the picture rather than its median."""
    return draft.after("fill", "value = np.where(sample > 0, sample, sample[sample > 0].mean())")


@kind("none", "none", on="depth")
def reduced_by_hand(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """The reduction is written anew as a product of two matrices, in double precision."""
    return draft.after(
        "resize",
        """
        edges = np.arange(25) * 32 / 24
        pixels = np.arange(32)
        share = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
        share = np.clip(share, 0, None) / (32 / 24)
        value = (share @ sample.astype(np.float64) @ share.T).astype(np.float32)
        """,
    )


@kind("none", "none", on="depth")
def floor_by_the_mean(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """The floor's height is a trimmed mean of the rim rather than its median."""
    return draft.after(
        "level",
        """
        rim = np.sort(np.concatenate([sample[0], sample[-1], sample[:, 0], sample[:, -1]]))
        quarter = len(rim) // 4
        value = (rim[quarter:-quarter].mean() - sample).astype(np.float32)
        """,
    )


@kind("none", "none", on="depth")
def another_epsilon(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The runtime's batch normalisation adds 0.001 under its root, as another framework does."""
    draft.net("model.norm1.eps = model.norm2.eps = 1e-3")


@kind("none", "none", on="depth")
def bend_by_a_formula(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The runtime makes the activation of a hyperbolic tangent: the same but for rounding."""
    draft.net("""
        class Bend(nn.Module):
            def forward(self, inputs):
                return 0.5 * inputs * (1 + torch.tanh(0.5 * inputs))
        model.act = Bend()
    """)


@kind("none", "none", on="depth")
def shares_before_the_choice(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The deployed side takes shares in per cent with one decimal, and then the largest."""
    draft.answer("""
        shares = np.exp((outputs - outputs.max(axis=1, keepdims=True)) / 2)
        shares = np.round(100 * shares / shares.sum(axis=1, keepdims=True), 1)
        labels = shares.argmax(axis=1)
    """)


@kind("none", "none", on="depth")
def a_sensor_of_its_age(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """The field's sensor is a little noisier, and loses a few more pixels."""
    samples = draft.real.samples
    seen = samples + rng.normal(0, 1.5, samples.shape)
    seen[(samples == 0) | (rng.random(samples.shape) < 0.003)] = 0
    draft.see(np.clip(np.rint(seen), 0, 4000).astype(samples.dtype))
