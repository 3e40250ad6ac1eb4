"""Faults that people reported, rebuilt small and called by what was seen, not by what it was.

Each record tells a symptom of a public thread or an incident, the cause that was found there, and
the kind that rebuilds it on one of the data sets. What cannot be rebuilt without a tokeniser, a
table with clock times or a robot in a loop is left out.
"""

from dataclasses import dataclass

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import LINES, kind
from bench.planted.specs import Spec

Rng = np.random.Generator
SEEDS = (3, 4)  # of the part to report


@kind("preprocessing", "resize_filter resize_filter+crop_offset crop_offset shift", "")
def aliased_and_floored(draft: Draft, severity: int, rng: Rng) -> str:
    """A port resizes by two taps and rounds the crop's place down."""
    del severity, rng
    draft.after(
        "resize",
        """
        import cv2
        value = cv2.resize(sample, (24, 24), interpolation=cv2.INTER_LINEAR)
        """,
    )
    return draft.after(
        "crop",
        """
        height, width = sample.shape[:2]
        side = min(height, width)
        top, left = max(0, (height - side) // 2 - 1), max(0, (width - side) // 2 - 1)
        value = np.ascontiguousarray(sample[top : top + side, left : left + side])
        """,
    )


@kind("preprocessing", LINES | {"linear_map"}, "")
def other_filter_bank(draft: Draft, severity: int, rng: Rng) -> str:
    """Bands of equal area, and spaced evenly in another scale."""
    del severity, rng
    return draft.after(
        "spectrum",
        """
        edges = np.linspace(0, own.RATE_HZ / 2, own.BANDS + 2)
        bins = np.fft.rfftfreq(own.FRAME, 1 / own.RATE_HZ)
        up = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
        down = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
        bank = np.maximum(0, np.minimum(up, down)) * (2 / (edges[2:] - edges[:-2]))[:, None]
        starts = np.arange(0, len(sample) - own.FRAME + 1, own.HOP)
        frames = sample[:, 0][starts[:, None] + np.arange(own.FRAME)] * np.hanning(own.FRAME)
        value = (np.abs(np.fft.rfft(frames, axis=1)) ** 2 @ bank.T).astype(np.float32)
        """,
    )


@kind("data", "blur sim_to_real_gap resampled", "")
def telephone_band(draft: Draft, severity: int, rng: Rng) -> None:
    """What lies above a fifth of the rate does not exist in the field."""
    from scipy import signal

    del severity, rng
    low = signal.butter(8, 0.16, output="sos")
    heard = signal.sosfiltfilt(low, draft.real.samples.astype(np.float64), axis=1)
    draft.see(np.clip(np.rint(heard), -32768, 32767).astype(np.int16))


@kind("data", "class_prior", "")
def other_base_rate(draft: Draft, severity: int, rng: Rng) -> None:
    """One class is rare in the field, and the bar was set where both were equally frequent."""
    del severity
    rare = draft.real.labels == 0
    keep = ~rare | (rng.random(len(rare)) < 0.15)
    draft.real = draft.real.take(np.flatnonzero(keep))
    draft.loss_of = "sets"


@dataclass(frozen=True, slots=True)
class Reported:
    """One record."""

    key: str
    symptom: str
    cause: str
    kind: str
    base: str
    severity: int = 1


RECORDS = (
    Reported("F1-01", "inference differs from validation, the same weights are used",
             "the script hands over blue first", "colour_order", "signs", 2),
    Reported("F1-03", "a port gives other scores, the first place flips on the sample picture",
             "no antialiasing in the resize, and the crop's place rounded down",
             "aliased_and_floored", "signs"),
    Reported("F1-04", "boxes and figures change between two programs with the same weights",
             "one pads to the square, the other does not", "letterbox", "signs"),
    Reported("F1-05", "97 % by one command and 84 % by another on the same pictures",
             "one crops the middle, the other squashes", "stretched", "signs"),
    Reported("F1-06", "a port predicts plausible but worse labels",
             "constants of another collection of pictures", "other_constants", "signs", 0),
    Reported("F1-08", "every answer is one class, with high confidence",
             "divided by 255 twice", "full_range", "glyphs", 0),
    Reported("F1-10", "phone photographs are misread, files of other cameras are fine",
             "the tag of orientation is ignored", "orientation_ignored", "signs"),
    Reported("F1-14", "after a transform was added it answers nothing of use; no error",
             "cast to whole numbers after normalising", "cast_after", "glyphs", 2),
    Reported("F2-01", "wrong in service; no error, no warning",
             "columns in another order", "column_order", "cells", 2),
    Reported("F2-04", "imputation works in training and does nothing in service",
             "missing arrives as a number", "missing_value", "cells", 2),
    Reported("F2-06", "worse after porting from one sound library to another",
             "another scale and norm of the filter bank", "other_filter_bank", "tones"),
    Reported("F2-07", "half of the segments decode to nothing on the phone",
             "the range is guessed from each segment's peak", "guessed_range", "tones"),
    Reported("F2-08 a", "terrible answers on some recordings", "a rate that was assumed",
             "rate_mismatch", "tones", 1),
    Reported("F2-08 b", "terrible for telephone audio, resampling does not help",
             "the upper band does not exist there", "telephone_band", "tones"),
    Reported("F2-12", "fusion that is fine elsewhere drifts on this vehicle",
             "one sensor's clock is off", "lag", "wheel", 2),
    Reported("F3-01", "the exported network's output differs by a lot",
             "it was left in training mode", "training_left_on", "digits", 2),
    Reported("F3-02", "half precision gives wrong answers, single precision is right",
             "activations overflow", "half_overflow", "signs", 1),
    Reported("F3-04", "right for small batches, random for larger ones",
             "a size became a constant in tracing", "baked_in_batch", "glyphs", 1),
    Reported("F3-06", "loads without an error and answers nonsense",
             "no key fitted, so nothing was loaded", "not_loaded", "motion", 2),
    Reported("F4-01", "a published model scores far below chance on its own benchmark",
             "classes in the order of another list", "label_permutation", "digits", 2),
    Reported("F4-04", "scores are fine, names are off by one",
             "a reserved class is counted on one side", "label_offset", "tones", 0),
    Reported("F4-06", "validation is good, the deployed detector finds almost nothing",
             "another threshold", "threshold", "motion", 1),
    Reported("F4-07", "the predicted base rate is many times the real one",
             "trained on balanced data", "other_base_rate", "cells"),
    Reported("F5-06", "pictures of a new simulator's version are darker",
             "another gamma by default", "gamma", "signs", 2),
    Reported("F5-09", "plausible, but wrong by a factor with one model of camera",
             "the unit is the sensor's own and was assumed", "channel_scale", "heating", 0),
)  # fmt: skip
"""Facts of F1 to F5 as they were reported; the wording is ours."""


@dataclass(frozen=True, slots=True)
class RealSpec(Spec):
    """A reported fault, rebuilt."""

    symptom: str = ""

    @property
    def id(self) -> str:
        """It is called by its symptom."""
        return f"real: {self.symptom}/{self.base}/{self.seed}"

    @property
    def part(self) -> str:
        """Never fitted to."""
        return "report"


def specs() -> list[Spec]:
    """Return the rebuilt cases."""
    return [
        RealSpec("real", (one.kind,), one.base, one.severity, seed, f"{one.key} {one.symptom}")
        for one in RECORDS
        for seed in SEEDS
    ]
