"""Differences that cost nothing, and no difference at all: nobody must be accused."""

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import kind
from bench.planted.kinds_data import over, unit
from bench.planted.kinds_model import ALL, NAMED, PARTS, hooked
from bench.planted.kinds_values import scaling
from bench.planted.rows import Rows, joined

Rng = np.random.Generator
WHERE = "none"


@kind(WHERE, "none", ALL)
def nothing(draft: Draft, severity: int, rng: Rng) -> None:
    del draft, severity, rng


@kind(WHERE, "none", ALL)
def half_that_fits(draft: Draft, severity: int, rng: Rng) -> None:
    """Sixteen bits hold all that this network has inside."""
    del rng
    draft.net(hooked((PARTS, "conv1 norm1", "fc1 fc2")[severity], "return out.half().float()"))


@kind(WHERE, "none", ALL)
def eight_bits_that_fit(draft: Draft, severity: int, rng: Rng) -> None:
    """Weights on a grid of 255 levels a row, as a careful exporter leaves them."""
    del rng, severity
    draft.net("""
with torch.no_grad():
    for name, weight in model.named_parameters():
        if weight.ndim > 1:
            flat = weight.reshape(len(weight), -1)
            step = flat.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            weight.copy_((torch.round(flat / step) * step).reshape(weight.shape))
""")


@kind(WHERE, "none", "glyphs signs")
def other_resize(draft: Draft, severity: int, rng: Rng) -> None:
    """A filter that renders nearly the same."""
    del rng
    size = draft.base.extra["size"]
    if draft.base.name == "signs":
        way = ("HAMMING", "BOX", "BICUBIC")[severity]
        lines = f"""
        from PIL import Image
        value = np.asarray(Image.fromarray(sample).resize(({size}, {size}), Image.Resampling.{way}))
        """
    else:
        lines = f"""
        from PIL import Image
        way = Image.Resampling.{("BILINEAR", "HAMMING", "BOX")[severity]}
        value = np.asarray(Image.fromarray(sample).resize(({size}, {size}), way))
        """
    draft.after("resize", lines)


@kind(WHERE, "none", ALL)
def reordered(draft: Draft, severity: int, rng: Rng) -> None:
    """The same files in another order."""
    del severity
    draft.real = draft.clean = draft.real.take(rng.permutation(len(draft.real)))


@kind(WHERE, "none", ALL)
def other_batches(draft: Draft, severity: int, rng: Rng) -> None:
    """Asked in small batches, one row at a time, or in uneven ones."""
    del rng
    size = (7, 1, 33)[severity]
    draft.net(f"""
inner = model.forward
model.forward = lambda batch: torch.cat([inner(part) for part in batch.split({size})])
""")


@kind(WHERE, "none", ALL)
def sessions(draft: Draft, severity: int, rng: Rng) -> None:
    """Frames of a session are nearly one frame; both sets are made so."""
    num = (4, 8, 16)[severity]
    draft.sim = _frames(draft, draft.sim, num, rng)
    draft.real = draft.clean = _frames(draft, draft.real, num, rng)


def _frames(draft: Draft, rows: Rows, num: int, rng: Rng) -> Rows:
    first = rng.permutation(len(rows))[: max(12, len(rows) // num)]
    taken = rows.take(np.repeat(first, num)[: len(rows)])
    taken.groups[:] = [f"session-{rows.ids[i]}" for i in np.repeat(first, num)[: len(rows)]]
    taken.ids[:] = [f"{name}-{at}" for at, name in enumerate(taken.ids)]
    kept, draft.real = draft.real, taken
    over(draft, lambda values: values + rng.normal(0, 0.004 * unit(draft), values.shape)
         * (np.abs(values) > 0))  # fmt: skip
    taken, draft.real = draft.real, kept
    return taken


@kind(WHERE, "none", ALL)
def very_few(draft: Draft, severity: int, rng: Rng) -> None:
    """Sixteen rows of the field, or some more."""
    num = (16, 24, 40)[severity]
    draft.real = draft.clean = draft.real.take(rng.permutation(len(draft.real))[:num])


@kind(WHERE, "none", "digits glyphs signs")
def both_by_256(draft: Draft, severity: int, rng: Rng) -> None:
    """A constant that is a little off, on both sides alike."""
    del rng
    times = (255 / 256, 256 / 255, 255 / 260)[severity]
    draft.both[scaling(draft)] = f"value = value * np.float32({times:.8f})\n"


@kind(WHERE, "none", "digits glyphs signs motion heating")
def nearly_scaled(draft: Draft, severity: int, rng: Rng) -> None:
    """A constant that is a little off, on one side."""
    del rng
    times = (255 / 256, 1.002, 0.998)[severity]
    draft.after(scaling(draft), f"value = (value * {times:.8f}).astype(np.float32)")


@kind(WHERE, "none", "glyphs signs")
def good_jpeg(draft: Draft, severity: int, rng: Rng) -> None:
    """Compressed once more, hardly visibly."""
    from bench.planted.kinds_pictures import square

    del rng
    quality = (97, 95, 92)[severity]
    draft.after(
        square(draft),
        f"""
        import io
        from PIL import Image
        file = io.BytesIO()
        Image.fromarray(value).save(file, "JPEG", quality={quality})
        value = np.asarray(Image.open(file))
        """,
    )


@kind(WHERE, "none", ALL)
def half_tensors(draft: Draft, severity: int, rng: Rng) -> None:
    """Values kept in 16 bits, which hold them well enough."""
    del rng, severity
    draft.after(scaling(draft), "value = value.astype(np.float16).astype(np.float32)")


@kind(WHERE, "none", "digits glyphs signs tones")
def likelihoods(draft: Draft, severity: int, rng: Rng) -> None:
    """The network hands out likelihoods, or cooler ones: the largest stays the largest."""
    del rng
    lines = ("torch.softmax(out, 1)", "out / 2", "torch.log_softmax(out, 1)")[severity]
    draft.net(hooked("fc2", f"return {lines}"))


@kind(WHERE, "none", NAMED)
def other_mixture(draft: Draft, severity: int, rng: Rng) -> None:
    """Classes come in other shares, and the network is as good at each."""
    classes = draft.base.classes or 2
    often = np.isin(draft.real.labels, np.arange(max(1, classes // 2)))
    keep = often | (rng.random(len(often)) < (0.6, 0.4, 0.25)[severity])
    draft.real = draft.clean = draft.real.take(np.flatnonzero(keep))


@kind(WHERE, "none", ALL)
def more_rows(draft: Draft, severity: int, rng: Rng) -> None:
    """More of the field, of the same distribution."""
    del rng
    more = draft.made.sim.take(range((20, 60, 100)[severity]))
    more.ids[:] = [f"w-{number:04d}" for number in range(len(more))]
    draft.sim = draft.made.sim.take(range(100, len(draft.made.sim)))
    draft.real = draft.clean = joined(draft.real, more)
