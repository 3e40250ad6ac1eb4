"""Faults of the data: what sensors hand over, how it is labelled, and what was learnt."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.planted.base import made, predicted, small_rows
from bench.planted.bases_pictures import code_of
from bench.planted.draft import Draft
from bench.planted.kind import LINES, ORDERS, TURNS, kind
from bench.planted.rows import Rows, named

Rng = np.random.Generator
Array = Any
WHERE = "data"
PICTURES = "digits glyphs signs"
CHANNELS = "motion heating signs wheel"


def over(draft: Draft, change: Callable[[Array], Array]) -> None:
    """Put each raw sample of the field through a function of its values, in their own units."""
    if draft.real.are_files:
        draft.see([_again(content, change) for content in draft.real.samples])
        return
    samples = draft.real.samples
    changed = np.stack([change(sample.astype(np.float64)) for sample in samples])
    draft.see(_as(changed, samples.dtype, draft.base.top))


def _as(values: Array, dtype: Any, top: float) -> Array:
    if np.dtype(dtype).kind == "f":
        return values.astype(dtype)
    limits = (0, top) if np.dtype(dtype) == np.uint8 else (-32768, 32767)
    return np.clip(np.rint(values), *limits).astype(dtype)


def _again(content: bytes, change: Callable[[Array], Array]) -> bytes:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        tags = image.getexif()
        values = change(np.asarray(image.convert("RGB"), np.float64))
    file = io.BytesIO()
    picture = Image.fromarray(_as(values, np.uint8, 255))
    picture.save(file, "JPEG", quality=92, exif=tags)
    return file.getvalue()


def unit(draft: Draft) -> float:
    """Return full scale in the raw samples' own units."""
    return 32768.0 if draft.base.name == "tones" else draft.base.top


@kind(WHERE, "class_prior", "digits glyphs signs motion tones")
def class_prior(draft: Draft, severity: int, rng: Rng) -> None:
    """Classes that the network is bad at come often; it was never good, and nobody saw it."""
    draft.weights = _half_way(draft, 0.9)
    right = predicted(draft.base, draft.weights, draft.sim) == draft.sim.labels
    levels = [right[draft.sim.labels == c].mean() for c in range(draft.base.classes or 0)]
    order = np.argsort(levels)
    bad = order[: max(1, len(order) // 3)]
    often = np.isin(draft.real.labels, bad)
    keep = often | (rng.random(len(often)) < (0.3, 0.15, 0.05)[severity])
    draft.real = draft.real.take(np.flatnonzero(keep))
    draft.loss_of = "sets"


def _half_way(draft: Draft, share: float) -> Any:
    from safetensors.numpy import load_file

    from bench.planted.kinds_model import rewritten

    early = made(draft.base, draft.made.seed, draft.made.weights.parents[3], "half").weights
    old = load_file(early / "weights.safetensors")
    return rewritten(
        draft,
        f"weak-{share}",
        lambda arrays: {
            name: (share * old[name] + (1 - share) * array).astype(array.dtype)
            for name, array in arrays.items()
        },
    )


@kind(WHERE, "label_noise", "digits glyphs signs motion tones cells")
def label_noise(draft: Draft, severity: int, rng: Rng) -> None:
    """Labels of the field that nobody checked."""
    classes, labels = draft.base.classes or 2, draft.real.labels.copy()
    wrong = rng.random(len(labels)) < (0.12, 0.22, 0.35)[severity]
    labels[wrong] = (labels[wrong] + rng.integers(1, classes, wrong.sum())) % classes
    draft.real = draft.real.labelled(labels)


@kind(WHERE, "sensor_noise noise", "digits glyphs signs motion tones heating")
def sensor_noise(draft: Draft, severity: int, rng: Rng) -> None:
    share = {
        "digits": (0.25, 0.35, 0.5),
        "glyphs": (0.3, 0.45, 0.6),
        "signs": (0.3, 0.4, 0.6),
        "motion": (0.15, 0.3, 0.5),
        "tones": (0.15, 0.3, 0.5),
        "heating": (0.03, 0.06, 0.1),
    }
    size = share[draft.base.name][severity] * unit(draft)
    over(draft, lambda values: values + rng.normal(0, size, values.shape))


@kind(WHERE, "blur", "glyphs signs digits")
def blur(draft: Draft, severity: int, rng: Rng) -> None:
    from scipy import ndimage

    del rng
    size = {"digits": (0.8, 1.1, 1.6), "glyphs": (2.0, 3.0, 4.0), "signs": (5.0, 8.0, 12.0)}
    width = size[draft.base.name][severity]
    over(draft, lambda v: ndimage.gaussian_filter(v, (width, width, 0)[: v.ndim]))


@kind(WHERE, "exposure", "glyphs signs digits")
def exposure(draft: Draft, severity: int, rng: Rng) -> None:
    """Too little light, or so much that much is white."""
    gain = (0.35, 0.22, 0.12)[severity] if rng.random() < 0.5 else (2.2, 3.5, 6.0)[severity]
    over(draft, lambda values: values * gain)


@kind(WHERE, "contrast", "glyphs signs digits")
def contrast(draft: Draft, severity: int, rng: Rng) -> None:
    """A haze: everything near one grey."""
    del rng
    share, grey = (0.35, 0.2, 0.1)[severity], 0.6 * draft.base.top
    over(draft, lambda values: grey + share * (values - grey))


@kind(WHERE, "colour channel_scale", "signs")
def colour_cast(draft: Draft, severity: int, rng: Rng) -> None:
    """The light of a lamp."""
    del rng
    gains = np.array(((1.3, 0.8, 0.5), (0.4, 0.9, 1.5), (1.6, 0.7, 0.2))[severity])
    over(draft, lambda values: values * gains)


@kind(WHERE, "dead_channel stuck_value", CHANNELS)
def dead_channel(draft: Draft, severity: int, rng: Rng) -> None:
    del rng
    channels = {
        "motion": ([1], [0], [0, 3]),
        "heating": ([1], [2], [0]),
        "signs": ([1], [2], [0]),
        "wheel": ([2], [1], [0]),
    }
    _set(draft, channels[draft.base.name][severity], 0.0)


def _set(draft: Draft, channels: list[int], number: float) -> None:
    def change(values: Array) -> Array:
        values = values.copy()
        values[..., channels] = number
        return values

    over(draft, change)


@kind(WHERE, "stuck_value dead_channel", "motion heating cells")
def stuck_value(draft: Draft, severity: int, rng: Rng) -> None:
    """A sensor that hangs on one number, in all rows or from some moment on."""
    share = (0.5, 0.75, 1.0)[severity]
    channel = {"motion": [0, 3], "heating": [2, 0], "cells": [7, 3]}[draft.base.name]
    at = channel[int(rng.integers(2))]
    samples = draft.real.samples.copy()
    if draft.base.name == "motion":
        begin = int((1 - share) * samples.shape[1])
        samples[:, begin:, at] = samples[:, begin, at][:, None]
    else:
        hangs = rng.random(len(samples)) < share
        samples[hangs, at] = np.nanquantile(samples[:, at], 0.9)
    draft.see(samples)


@kind(WHERE, "swapped_channel " + " ".join(ORDERS), CHANNELS)
def swapped_channel(draft: Draft, severity: int, rng: Rng) -> None:
    """Two plugs in each other's sockets."""
    del rng
    pairs = {"motion": ((0, 1), (0, 2), (0, 4)), "heating": ((0, 2), (1, 2), (0, 1)),
             "signs": ((0, 1), (1, 2), (0, 2)), "wheel": ((0, 1), (0, 2), (1, 2))}  # fmt: skip
    first, second = pairs[draft.base.name][severity]

    def change(values: Array) -> Array:
        values = values.copy()
        values[..., [first, second]] = values[..., [second, first]]
        return values

    over(draft, change)


@kind(WHERE, "channel_offset", "motion heating cells")
def channel_offset(draft: Draft, severity: int, rng: Rng) -> None:
    del rng
    by = {
        "motion": ((0, 5.0), (2, 9.81), (0, -9.81)),
        "heating": ((0, 12.0), (2, 15.0), (0, -25.0)),
        "cells": ((0, 5.0), (1, 12.0), (2, 60.0)),
    }
    at, number = by[draft.base.name][severity]
    over(draft, lambda values: values + number * (np.arange(values.shape[-1]) == at))


@kind(WHERE, LINES, "motion heating cells")
def channel_scale(draft: Draft, severity: int, rng: Rng) -> None:
    """A sensor that speaks another unit."""
    del rng
    by = {"motion": ((0, 0.102), (3, 57.3), (1, 9.81)), "heating": ((1, 10.0), (0, 0.5), (2, 2.0)),
          "cells": ((3, 0.155), (0, 0.394), (1, 2.54))}  # fmt: skip
    at, times = by[draft.base.name][severity]
    over(draft, lambda v: v * np.where(np.arange(v.shape[-1]) == at, times, 1.0))


@kind(WHERE, "lag channel_lag", "wheel")
def lag(draft: Draft, severity: int, rng: Rng) -> None:
    late, channels = (4, 5, 7)[severity], [int(rng.integers(2))]

    def change(values: Array) -> Array:
        values = values.copy()
        values[late:, channels] = values[:-late, channels]
        values[:late, channels] = values[late, channels]
        return values

    over(draft, change)


@kind(WHERE, "inverted invert", "digits glyphs signs motion")
def inverted(draft: Draft, severity: int, rng: Rng) -> None:
    """A negative; of a signal, an axis that points the other way."""
    del rng
    if draft.base.name == "motion":
        at = (0, 1, 2)[severity]
        over(draft, lambda v: v * np.where(np.arange(6) == at, -1.0, 1.0))
    else:
        over(draft, lambda values: draft.base.top - values)


@kind(WHERE, TURNS | {"turned"}, PICTURES)
def turned_camera(draft: Draft, severity: int, rng: Rng) -> None:
    """A camera that hangs on its side, or upside down."""
    times = (2, int(rng.choice([1, 3])), int(rng.choice([1, 3])))[severity]
    over(draft, lambda values: np.rot90(values, times))


@kind(WHERE, "sim_to_real_gap", "digits glyphs tones motion heating")
def novel_objects(draft: Draft, severity: int, rng: Rng) -> None:
    """Things that training never showed: other hands, other instruments, other fuels."""
    other = NOVEL[draft.base.name](rng, len(draft.real))
    share = (0.6, 0.8, 1.0)[severity]
    chosen = np.flatnonzero(rng.random(len(draft.real)) < share)
    samples, labels = draft.real.samples.copy(), draft.real.labels.copy()
    samples[chosen], labels[chosen] = other.samples[chosen], other.labels[chosen]
    draft.real = draft.real.labelled(labels).seen_as(samples)
    draft.loss_of = "sets"


def _printed(rng: Rng, num: int) -> Rows:
    made_of = code_of("digits", "digits_data").render("n", num, rng, set())
    return named(made_of.samples, np.array(made_of.labels), made_of.groups, "n")


def _outlined(rng: Rng, num: int) -> Rows:
    """Letters of which only the outline is drawn."""
    import cv2

    from bench.planted.bases_pictures import glyphs

    rows = glyphs(rng)[0].take(range(num))
    kernel = np.ones((3, 3), np.uint8)
    outlines = [cv2.morphologyEx(s, cv2.MORPH_GRADIENT, kernel) for s in rows.samples]
    return rows.seen_as(np.stack(outlines))


def _buzzing(rng: Rng, num: int) -> Rows:
    """The same tones of an instrument with strong overtones and a tremble."""
    from bench.planted.bases_signals import LENGTH, RATE_HZ, tones

    rows = tones(rng)[0].take(range(num))
    waves = rows.samples[..., 0].astype(np.float64) / 32768
    moments = np.arange(LENGTH) / RATE_HZ
    tremble = np.sin(2 * np.pi * 37 * moments)
    bent = np.abs(waves) ** 0.5 * np.sign(waves) * (0.5 + 0.5 * tremble)
    bent = bent * np.sign(np.sin(2 * np.pi * 900 * moments))
    return rows.seen_as(np.clip(16384 * bent, -32768, 32767).astype(np.int16)[..., None])


def _recorded(rng: Rng, num: int) -> Rows:
    """Recordings of people, where a generator was learnt (BasicMotions)."""
    taken = code_of("motion", "motion_data").recorded()
    at = rng.choice(len(taken.labels), num, replace=num > len(taken.labels))
    noise = rng.normal(0, 0.02, (num, 100, 6)).astype(np.float32)
    groups = [taken.groups[i] for i in at]
    return named(taken.samples[at] + noise, np.array(taken.labels)[at], groups, "n")


def _burnt(rng: Rng, num: int) -> Rows:
    """Measured heating values, where a formula was learnt."""
    taken = code_of("heating", "heating_data").measured()
    at = rng.choice(len(taken.labels), num, replace=False)
    groups = [taken.groups[i] for i in at]
    return named(taken.samples[at], np.array(taken.labels)[at], groups, "n")


NOVEL: dict[str, Callable[[Rng, int], Rows]] = {
    "digits": _printed,
    "glyphs": _outlined,
    "tones": _buzzing,
    "motion": _recorded,
    "heating": _burnt,
}


@kind(WHERE, "leakage", "digits glyphs signs motion tones heating cells")
def leakage(draft: Draft, severity: int, rng: Rng) -> None:
    """Validation shares samples with training, which were learnt by heart."""
    draft.weights = made(
        draft.base, draft.made.seed, draft.made.weights.parents[3], "small"
    ).weights
    train = draft.made.train.take(range(small_rows(draft.base)))
    share = (0.6, 0.8, 1.0)[severity]
    leaked = rng.permutation(len(train))[: int(share * len(train))]
    own = draft.sim.take(range(len(train) - len(leaked)))
    from bench.planted.rows import joined

    copies = train.take(leaked)
    copies.ids[:] = [f"v-{number:04d}" for number in range(len(copies))]
    draft.train, draft.sim, draft.loss_of = train, joined(own, copies), "sets"


@kind(WHERE, "replay wrong_weights", "digits glyphs signs motion tones cells")
def claim_not_reached(draft: Draft, severity: int, rng: Rng) -> None:
    """The network that was handed over is not the one whose figure was told."""
    del rng
    right = predicted(draft.base, draft.weights, draft.sim) == draft.sim.labels
    draft.reported = float(right.mean())
    draft.weights = _half_way(draft, (0.85, 0.92, 1.0)[severity])
    draft.loss_of = "claim"
