"""The blind part's faults before the network: in the deployed steps, and in the field's data."""

import io
from collections.abc import Callable

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import kind

Picture = Callable[[np.ndarray], np.ndarray]
SENSED = {"digits": (0, 16), "glyphs": (0, 255), "signs": (0, 255), "depth": (0, 4000)}


@kind("preprocessing", "contrast_equalised equalise", on="glyphs signs depth")
def equaliser_left_on(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """An operator's display enhancement, histogram equalisation, reaches the network too."""
    share = (0.4, 0.7, 1.0)[severity]
    return draft.after(
        "decode",
        f"""
        bins = np.sort(value.ravel().astype(np.float32))
        rank = np.searchsorted(bins, value.astype(np.float32), side="right") / bins.size
        flat = rank * (bins[-1] - bins[0]) + bins[0]
        value = ({1 - share} * value + {share} * flat).astype(value.dtype)
        """,
    )


@kind("preprocessing", "interlaced combing", on="digits glyphs signs depth")
def fields_not_woven(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """Interlaced video: odd lines are of the next moment, and stand beside where they belong."""
    part = (0.08, 0.15, 0.25)[severity]
    return draft.after(
        "decode",
        f"""
        value = value.copy()
        aside = max(1, round({part} * value.shape[1]))
        value[1::2] = np.roll(value[1::2], aside, axis=1)
        """,
    )


@kind("preprocessing", "sheared stride", on="glyphs signs depth")
def line_length_wrong(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """A buffer's line length leaves out some bytes of padding: each line starts a bit later."""
    part = (0.3, 0.6, 1.0)[severity]
    return draft.after(
        "decode",
        f"""
        value = value.copy()
        for line in range(len(value)):
            value[line] = np.roll(value[line], round({part} * line), axis=0)
        """,
    )


@kind("preprocessing", "chroma_swapped colour_space channel_order", on="signs")
def chroma_read_the_other_way(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """NV21 is read as NV12: both chroma planes trade places; luma is right."""
    share = (0.6, 0.8, 1.0)[severity]
    return draft.after(
        "decode",
        f"""
        from PIL import Image
        luma, blue, red = Image.fromarray(value).convert("YCbCr").split()
        mixed = Image.blend(blue, red, {share}), Image.blend(red, blue, {share})
        value = np.asarray(Image.merge("YCbCr", (luma, *mixed)).convert("RGB"))
        """,
    )


@kind("preprocessing", "companded mu_law monotone_curve", on="tones motion wheel")
def left_companded(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """The codec's mu-law is not expanded: quiet parts are loud, loud parts are all alike."""
    mu = (15, 255, 4095)[severity]
    top = draft.base.top
    return draft.after(
        draft.base.raw,
        f"""
        near = np.log1p({mu} * np.abs(value) / {top}) / np.log1p({mu})
        value = (np.sign(value) * near * {top}).astype(np.float32)
        """,
    )


@kind("preprocessing", "group_delay lag smoothed", on="wheel")
def filtered_on_one_channel(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """A causal low-pass stands before one of the channels: it comes late and weaker."""
    rate, channel = (0.22, 0.12, 0.06)[severity], int(rng.integers(2))
    return draft.after(
        "decode",
        f"""
        value = value.copy()
        for moment in range(1, len(value)):
            before, now = value[moment - 1, {channel}], value[moment, {channel}]
            value[moment, {channel}] = before + {rate} * (now - before)
        """,
    )


@kind("preprocessing", "automatic_gain normalised_by_itself", on="motion")
def levelled_as_it_goes(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """An automatic gain control follows the loudness and takes it away, channel by channel."""
    share = (0.5, 0.8, 1.0)[severity]
    return draft.after(
        "decode",
        f"""
        core = np.ones(15) / 15
        power = np.stack([np.convolve(c, core, "same") for c in (value**2).T], axis=1)
        gain = (np.sqrt(np.mean(power) + 1e-9) / np.sqrt(power + 1e-9)) ** {share}
        value = (value * gain).astype(np.float32)
        """,
    )


@kind("preprocessing", "row_normalised normalised_by_itself", on="heating cells")
def divided_by_its_own_sum(draft: Draft, severity: int, rng: np.random.Generator) -> str:
    """Each row is brought to one and the same sum (a dry, ash-free basis)."""
    share = (0.4, 0.7, 1.0)[severity]
    step = "fill" if draft.base.name == "cells" else "decode"
    total = {"heating": 100.0, "cells": 860.0}[draft.base.name]
    return draft.after(
        step,
        f"""
        factor = {total} / max(float(np.sum(value)), 1e-6)
        value = (value * factor ** {share}).astype(np.float32)
        """,
    )


def _seen(draft: Draft, change: Picture) -> None:
    """Let the field's pictures pass through a function, as they stand on the sensor."""
    samples = draft.real.samples
    if draft.real.are_files:
        draft.see([_filed(content, change) for content in samples])
        return
    low, high = SENSED[draft.base.name]
    changed = [np.clip(change(sample.astype(np.float32)), low, high) for sample in samples]
    draft.see(np.rint(np.stack(changed)).astype(samples.dtype))


def _filed(content: bytes, change: Picture) -> bytes:
    """Change what a JPEG file shows, and file it as it was filed."""
    from PIL import Image, JpegImagePlugin

    with Image.open(io.BytesIO(content)) as image:
        seen = np.clip(change(np.asarray(image.convert("RGB"), np.float32)), 0, 255)
        kept = io.BytesIO()
        sampling = JpegImagePlugin.get_sampling(image)
        Image.fromarray(np.rint(seen).astype(np.uint8)).save(
            kept,
            "JPEG",
            qtables=image.quantization,  # type: ignore[attr-defined]
            subsampling=sampling,
            exif=image.getexif(),
        )
    return kept.getvalue()


@kind("data", "hot_pixels stuck_value", on="digits glyphs")
def pixels_burnt_in(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """An old sensor: some pixels, always the same, are at full scale."""
    side = draft.real.samples.shape[1]
    share = (0.05, 0.1, 0.18)[severity]
    at = rng.random((side, side)) < share
    full = {"digits": 16, "glyphs": 255}[draft.base.name]
    _seen(draft, lambda seen: np.where(at, full, seen))


@kind("data", "occluded vignetting dirt", on="glyphs signs")
def dirt_on_the_window(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """A soft stain on the glass hides one and the same part of each picture."""
    wide, (x, y) = (0.35, 0.55, 0.75)[severity], rng.uniform(-0.35, 0.35, 2)
    grey = {"glyphs": 110, "signs": 90}[draft.base.name]

    def stained(seen: np.ndarray) -> np.ndarray:
        height, width = seen.shape[:2]
        down, across = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
        cover = np.clip(1.6 - 1.6 * np.hypot(across - x, down - y) / (1.4 * wide), 0, 1)
        cover = cover if seen.ndim == 2 else cover[..., None]
        return np.asarray(seen + cover * (grey - seen))

    _seen(draft, stained)


@kind("data", "mains_hum periodic interference", on="tones motion wheel")
def hum_of_the_mains(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """A broken shield: the mains, with odd harmonics, ride on the signal."""
    loud = {"tones": 4000.0, "motion": 6.0, "wheel": 4.0}[draft.base.name]
    loud *= (0.5, 1.0, 2.0)[severity]
    samples = draft.real.samples
    num = samples.shape[1]
    cycles = num / 4000 * 50 if draft.base.name == "tones" else num * 0.16
    phase = rng.uniform(0, 2 * np.pi, (len(samples), 1, 1))
    angle = 2 * np.pi * cycles * (np.arange(num) / num)[None, :, None] + phase
    hum = loud * (np.sin(angle) + 0.5 * np.sin(3 * angle) + 0.3 * np.sin(5 * angle))
    draft.see(_fitted(samples + hum, samples.dtype))


def _fitted(signal: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "i":
        bounds = np.iinfo(dtype)
        signal = np.clip(np.rint(signal), bounds.min, bounds.max)
    return np.asarray(signal.astype(dtype))


@kind("data", "dropouts held_value gaps", on="tones motion wheel")
def packets_lost(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """A weak radio link: bursts are lost, and the receiver repeats the last value."""
    share, samples = (0.4, 0.6, 0.8)[severity], draft.real.samples.copy()
    num = samples.shape[1]
    burst = num // 8
    for signal in samples:
        for start in range(0, num, burst):
            if rng.random() < share and start:
                signal[start : start + burst] = signal[start - 1]
    draft.see(samples)


@kind("data", "wrapped_around overflow", on="depth tones motion")
def counter_wraps(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Values beyond the sensor's span start again at its other end (phase or counter overflow)."""
    samples = draft.real.samples
    span = {
        "depth": (1900, 1500, 1200),
        "tones": (16000, 9000, 5000),
        "motion": (24.0, 18.0, 12.0),
    }[draft.base.name][severity]
    if draft.base.name == "depth":
        wrapped = samples % span
        wrapped[(samples > 0) & (wrapped == 0)] = 1
        draft.see(wrapped.astype(samples.dtype))
        return
    half = span / 2
    draft.see(_fitted((samples + half) % span - half, samples.dtype))


@kind("data", "label_noise annotator", on="digits glyphs signs wheel depth")
def one_office_confuses_two(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """One of the labelling offices exchanges two pairs of classes, in its share of the groups."""
    share, labels = (0.3, 0.5, 0.8)[severity], draft.real.labels.copy()
    names = np.unique(draft.real.groups)
    office = set(names[rng.random(len(names)) < share].tolist())
    order = rng.permutation(int(draft.base.classes or 2))[:4]
    other = {int(order[i]): int(order[i ^ 1]) for i in range(len(order))}
    for row, group in enumerate(draft.real.groups):
        if group in office:
            labels[row] = other.get(int(labels[row]), labels[row])
    draft.real = draft.real.labelled(labels)


@kind("data", "measured_otherwise unit_ratio column_scale", on="heating cells")
def other_laboratory(draft: Draft, severity: int, rng: np.random.Generator) -> None:
    """Some lots come from a laboratory with another method (oxygen by difference; another lens)."""
    share, samples = (0.3, 0.6, 0.9)[severity], draft.real.samples.copy()
    names = np.unique(draft.real.groups)
    theirs = set(names[rng.random(len(names)) < share].tolist())
    rows = np.array([group in theirs for group in draft.real.groups])
    if draft.base.name == "heating":
        rest = samples.sum(axis=1) - samples[:, 2]
        samples[rows, 2] = 100 - rest[rows]
    else:
        samples[rows, 0] *= 1.3
        samples[rows, 2] *= 1.3
        samples[rows, 3] *= 1.69
    draft.see(samples)
