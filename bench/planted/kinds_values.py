"""Faults of preprocessing that change numbers: scale, units, order, rounding, time, absence."""

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import CURVES, GRIDS, LINES, ORDERS, kind

Rng = np.random.Generator
WHERE = "preprocessing"
SCALES = {"digits": "scale", "glyphs": "normalise", "signs": "normalise", "motion": "units",
          "tones": "loudness", "wheel": "scale", "heating": "standardise",
          "cells": "standardise"}  # fmt: skip


def scaling(draft: Draft) -> str:
    """Return the step that brings values to the network's range."""
    return SCALES[draft.base.name]


@kind(WHERE, LINES, "glyphs signs heating cells")
def other_constants(draft: Draft, severity: int, rng: Rng) -> str:
    """The mean and deviation of another data set."""
    if draft.base.name == "glyphs":
        mean, deviation = ((0.5, 0.5), (0.485, 0.229), (0.9, 0.3))[severity]
        body = f"value = (sample.astype(np.float32) / 255 - {mean}) / {deviation}"
    elif draft.base.name == "signs":
        constants = (
            ([0.5] * 3, [0.5] * 3),
            ([0.1307] * 3, [0.3081] * 3),
            ([0.9, 0.4, 0.1], [0.2, 0.2, 0.5]),
        )
        mean, deviation = constants[severity]
        body = (
            f"value = (sample.astype(np.float32) / 255 - np.array({mean}, np.float32))"
            f" / np.array({deviation}, np.float32)"
        )
    else:
        off = (0.4, 0.8, 1.4)[severity] * (2.5 if draft.base.name == "cells" else 1)
        signs = rng.choice([-1, 1], len(draft.base.columns)).tolist()
        body = (
            f"value = (sample - own.MEAN - {off} * np.array({signs}) * own.DEVIATION)"
            f" / (own.DEVIATION * {1 + off / 2})\nvalue = value.astype(np.float32)"
        )
    return draft.after(scaling(draft), body)


@kind(WHERE, LINES, "digits glyphs signs tones")
def full_range(draft: Draft, severity: int, rng: Rng) -> str:
    """Scaled once too often, or never."""
    del rng
    if draft.base.name == "tones":
        times = (32768.0, 1 / 32768, 1 / 128)[severity]
        return draft.after("decode", f"value = value * np.float32({times})")
    top = draft.base.top
    times = (1 / top, top, 1 / top**2 if top < 20 else 1 / 64)[severity]
    return draft.after(scaling(draft), f"value = value * np.float32({times})")


@kind(WHERE, LINES, "digits glyphs signs")
def centred_range(draft: Draft, severity: int, rng: Rng) -> str:
    """-1..1 where 0..1 was trained, or the reverse."""
    del rng
    lines = ("value = value * 2 - 1", "value = (value + 1) / 2", "value = value * 2 - 2")[severity]
    return draft.after(scaling(draft), f"{lines}\nvalue = value.astype(np.float32)")


@kind(WHERE, LINES | {"unknown"}, "motion heating cells")
def not_normalised(draft: Draft, severity: int, rng: Rng) -> str:
    del rng, severity
    return draft.after(scaling(draft), "value = np.asarray(sample, np.float32)")


@kind(WHERE, LINES, "digits glyphs signs")
def inverted_code(draft: Draft, severity: int, rng: Rng) -> str:
    del rng, severity
    top = int(draft.base.top)
    return draft.after("decode", f"value = ({top} - value).astype(value.dtype)")


@kind(WHERE, "layout layout_reshape layout_transpose", "signs motion tones")
def layout(draft: Draft, severity: int, rng: Rng) -> str:
    """Axes renamed by a reshape where they should be moved."""
    del rng, severity
    last = {"signs": "(sample.shape[2], *sample.shape[:2])"}.get(
        draft.base.name, "sample.shape[::-1]"
    )
    return draft.after("layout", f"value = np.ascontiguousarray(sample).reshape({last})")


@kind(WHERE, ORDERS, "motion heating cells tones wheel")
def column_order(draft: Draft, severity: int, rng: Rng) -> str:
    step = {"heating": "select", "tones": "spectrum"}
    width = {"motion": 6, "heating": 5, "cells": 10, "tones": 24, "wheel": 3}[draft.base.name]
    order = np.arange(width)
    if draft.base.name == "tones":
        order = np.roll(order, (2, 4, 8)[severity])
    else:
        swapped = {"motion": ([0, 1], [0, 1, 2], [0, 3, 1, 4]), "heating": ([0, 2], [0, 1, 2],
                   [0, 2, 1, 3, 4]), "cells": ([5, 6], [0, 1, 5], [0, 1, 5, 6, 7]),
                   "wheel": ([0, 1], [0, 2], [0, 1, 2])}  # fmt: skip
        chosen = swapped[draft.base.name][severity]
        order[chosen] = np.roll(chosen, 1)
    del rng
    name = step.get(draft.base.name, "decode")
    return draft.after(name, f"value = value[..., np.array({order.tolist()})]")


@kind(WHERE, LINES, "motion heating cells")
def unit_mismatch(draft: Draft, severity: int, rng: Rng) -> str:
    """One column, or all of one sensor, in another unit."""
    choices = {
        "motion": (("[..., 0]", 1 / 9.81), ("[..., 3:]", 57.29578), ("[..., :3]", 1 / 9.81)),
        "heating": (("[1]", 10.0), ("[0]", 0.01), ("", 0.01)),
        "cells": (("[0]", 0.1), ("[3]", 0.01), ("[2]", 2.54)),
    }
    part, times = choices[draft.base.name][severity]
    del rng
    number = f"np.float32({times})"
    change = f"value{part} = value{part} * {number}" if part else f"value = value * {number}"
    return draft.after("decode", f"value = value.copy()\n{change}")


@kind(WHERE, CURVES, "heating tones")
def log_scale(draft: Draft, severity: int, rng: Rng) -> str:
    """Values through a logarithm, or through a companding law."""
    del rng
    if draft.base.name == "heating":
        times = (0.5, 2.0, 10.0)[severity]
        body = f"value = (100 * np.log1p({times} * value / 100) / np.log1p({times}))"
    else:
        law = (15.0, 63.0, 255.0)[severity]
        body = f"value = np.sign(value) * np.log1p({law} * np.abs(value)) / np.log1p({law})"
    return draft.after("decode", f"{body}\nvalue = value.astype(np.float32)")


@kind(WHERE, GRIDS | {"wrap", "clip"}, "glyphs signs digits")
def cast_after(draft: Draft, severity: int, rng: Rng) -> str:
    """Cast to whole numbers after, and not before, values became fractions."""
    del rng
    cast = (
        "value = np.rint(value)",
        "value = np.trunc(value)",
        "value = np.clip(np.rint(value), 0, 255)",
    )
    return draft.after(scaling(draft), f"{cast[severity]}\nvalue = value.astype(np.float32)")


@kind(WHERE, GRIDS, "digits glyphs signs motion heating")
def coarse_steps(draft: Draft, severity: int, rng: Rng) -> str:
    """Too few levels: an old converter, or a type of few bits."""
    del rng
    levels = {"glyphs": (3, 2, 1.5), "signs": (3, 2, 1.5), "digits": (2, 1.5, 1.2)}
    step = draft.base.top / levels.get(draft.base.name, (4, 2, 1.3))[severity]
    if draft.base.name == "heating":
        step = (5.0, 10.0, 20.0)[severity]
    if draft.base.name == "motion":
        step = (6.0, 12.0, 25.0)[severity]
    body = f"value = {step:.6g} * np.floor(value.astype(np.float32) / {step:.6g})"
    if draft.base.top == 255.0:
        body += "\nvalue = np.clip(value, 0, 255).astype(np.uint8)"
    return draft.after("decode", body)


@kind(WHERE, LINES | {"wrap"}, "digits glyphs signs")
def wrapped(draft: Draft, severity: int, rng: Rng) -> str:
    """A gain that runs over the type's end."""
    del rng
    gain = (1.4, 1.8, 2.6)[severity] * 255 / draft.base.top
    return draft.after(
        "decode",
        f"value = (value.astype(np.float32) * {gain:.6g}).astype(np.int64).astype(np.uint8)"
        + (f"\nvalue = value * np.float32({1 / gain:.6g})" if draft.base.top < 20 else ""),
    )


@kind(WHERE, "clip", "digits glyphs signs heating motion tones")
def clipped(draft: Draft, severity: int, rng: Rng) -> str:
    del rng
    tops = {
        "digits": (6, 3, 1),
        "glyphs": (90, 50, 25),
        "signs": (130, 90, 50),
        "motion": (6, 3, 1),
        "heating": (45, 35, 20),
        "tones": (0.02, 0.005, 0.001),
    }
    top = tops[draft.base.name][severity]
    return draft.after(
        "decode", f"value = np.clip(value, {-top if draft.base.modality == 'signal' else 0}, {top})"
    )


@kind(WHERE, "resampled", "motion tones")
def rate_mismatch(draft: Draft, severity: int, rng: Rng) -> str:
    """A rate that was assumed: the signal runs faster, and its end is repeated."""
    del rng
    speed = (1.12, 1.38, 2.0)[severity]
    return draft.after(
        "decode",
        f"""
        at = np.minimum(np.arange(len(value)) * {speed}, len(value) - 1)
        low = np.floor(at).astype(int)
        high = np.minimum(low + 1, len(value) - 1)
        part = (at - low).astype(np.float32).reshape(-1, *[1] * (value.ndim - 1))
        value = (value[low] * (1 - part) + value[high] * part).astype(np.float32)
        """,
    )


@kind(WHERE, "resampled blur", "motion tones")
def narrow_band(draft: Draft, severity: int, rng: Rng) -> str:
    """Down and up again: what lies above is gone."""
    del rng
    every = {"tones": (4, 6, 8), "motion": (4, 8, 16)}[draft.base.name][severity]
    return draft.after(
        "decode",
        f"""
        kept = np.arange(0, len(value), {every})
        flat = value.reshape(len(value), -1)
        flat = [np.interp(np.arange(len(value)), kept, column[kept]) for column in flat.T]
        value = np.stack(flat, axis=1).reshape(value.shape).astype(np.float32)
        """,
    )


@kind(WHERE, "lag channel_lag shift", "wheel")
def lag_in_code(draft: Draft, severity: int, rng: Rng) -> str:
    """Some channels lag behind the others."""
    late, channels = (4, 5, 7)[severity], [int(rng.integers(2))]
    return draft.after(
        "decode",
        f"""
        value = value.copy()
        value[{late}:, {channels}] = value[:-{late}, {channels}]
        value[:{late}, {channels}] = value[{late}, {channels}]
        """,
    )


@kind(WHERE, "missing_value", "cells")
def missing_value(draft: Draft, severity: int, rng: Rng) -> str:
    """A missing measurement gets a number of its own instead of the mean."""
    del rng
    number = (0.0, -1.0, -999.0)[severity]
    return draft.after("decode", f"value = np.where(np.isnan(value), np.float32({number}), value)")


@kind(WHERE, LINES, "tones")
def band_norm(draft: Draft, severity: int, rng: Rng) -> str:
    """Bands weighed by their width, as one library does and another does not."""
    del rng
    times = (1.0, 1e-2, 1e2)[severity]
    return draft.after(
        "spectrum",
        f"""
        mel = np.linspace(0, 2595 * np.log10(1 + own.RATE_HZ / 2 / 700), own.BANDS + 2)
        edges = 700 * (10 ** (mel / 2595) - 1)
        value = ({times} * 100 * value / (edges[2:] - edges[:-2])).astype(np.float32)
        """,
    )


@kind(WHERE, LINES | {"some_rows"}, "tones glyphs")
def guessed_range(draft: Draft, severity: int, rng: Rng) -> str:
    """A range that is guessed from each sample's own peak."""
    del rng
    if draft.base.name == "tones":
        peak = (0.3, 0.22, 0.15)[severity]
        lines = f"value = value * np.float32(32768 if np.abs(value).max() <= {peak} else 1)"
        return draft.after("decode", lines)
    peak = (225, 210, 195)[severity]
    lines = f"value = value / np.float32(255) if sample.max() > {peak} else value"
    return draft.after("normalise", lines)


@kind(WHERE, "channel_constant dead_channel", "motion signs heating wheel")
def channel_lost(draft: Draft, severity: int, rng: Rng) -> str:
    """A channel that is never filled in."""
    del rng
    width = {
        "motion": ([1], [0], [0, 3]),
        "signs": ([1], [2], [0]),
        "heating": ([1], [2], [0]),
        "wheel": ([2], [1], [0]),
    }
    channels = width[draft.base.name][severity]
    return draft.after("decode", f"value = value.copy()\nvalue[..., {channels}] = 0")


@kind(WHERE, "unknown", "motion tones")
def wavering(draft: Draft, severity: int, rng: Rng) -> str:
    """A clock that runs slow and fast by turns."""
    del rng
    deep = (0.12, 0.25, 0.45)[severity]
    return draft.after(
        "decode",
        f"""
        time = np.arange(len(value)) / len(value)
        at = len(value) * np.clip(time + {deep} * np.sin(2 * np.pi * 2 * time) / 3, 0, 1)
        value = value[np.minimum(at.astype(int), len(value) - 1)]
        """,
    )


@kind(WHERE, "unknown", "heating cells")
def mixed_columns(draft: Draft, severity: int, rng: Rng) -> str:
    """A product of columns where one of them should be: a formula with the wrong cell."""
    del rng
    first, second = {"heating": ((1, 0), (0, 2), (2, 1)), "cells": ((0, 5), (7, 1), (5, 8))}[
        draft.base.name
    ][severity]
    scale = {"heating": 40.0, "cells": 1.0}[draft.base.name]
    return draft.after(
        "decode",
        f"value = value.copy()\nvalue[{first}] = value[{first}] * value[{second}] / {scale}",
    )
