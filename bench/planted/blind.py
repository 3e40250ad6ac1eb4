"""The blind part: faults chosen by somebody who has not seen the library of explanations."""

from collections.abc import Mapping
from dataclasses import replace

from bench.planted import blind_base, blind_harmless, blind_sensed, blind_served
from bench.planted.blind_names import BLIND_NAMES
from bench.planted.kind import KINDS
from bench.planted.specs import BlindSpec, Spec

BASES = blind_base.BASES
MODULES = (blind_sensed, blind_served, blind_harmless)
"""Importing them registers their kinds; what answers may call them is laid beside them here."""
KINDS.update(
    {key: replace(KINDS[key], names=frozenset(BLIND_NAMES[key].split())) for key in BLIND_NAMES}
)

PLANTED: Mapping[str, str] = {
    "equaliser_left_on": "glyphs depth",
    "fields_not_woven": "depth digits",
    "line_length_wrong": "depth signs",
    "chroma_read_the_other_way": "signs",
    "left_companded": "tones wheel",
    "filtered_on_one_channel": "wheel",
    "levelled_as_it_goes": "motion",
    "divided_by_its_own_sum": "heating cells",
    "statistics_half_forgotten": "glyphs heating",
    "activations_clipped": "depth tones",
    "another_activation": "glyphs wheel",
    "kernels_turned": "digits depth",
    "first_of_the_best_few": "signs wheel",
    "votes_of_neighbours": "glyphs depth",
    "answers_in_coarse_steps": "heating digits",
    "priors_of_another_site": "tones depth",
    "answer_of_the_row_before": "heating signs",
    "shares_over_the_rows": "glyphs depth",
    "pixels_burnt_in": "digits glyphs",
    "dirt_on_the_window": "glyphs signs",
    "hum_of_the_mains": "wheel motion",
    "packets_lost": "tones motion",
    "counter_wraps": "depth tones",
    "one_office_confuses_two": "digits depth",
    "other_laboratory": "heating cells",
}
"""Each at severity 1 with seed 0, and at severity 2 with seed 1."""

WHOLE: Mapping[str, str] = {
    "flattened_channels_last": "motion depth",
    "pooled_by_the_mean": "digits signs",
}
"""These have no severity: one case a data set."""

HEALTHY: Mapping[str, int] = {
    "left_as_it_was": 3,
    "metres_and_back": 2,
    "holes_filled_by_the_mean": 2,
    "reduced_by_hand": 2,
    "floor_by_the_mean": 2,
    "another_epsilon": 2,
    "bend_by_a_formula": 1,
    "shares_before_the_choice": 2,
    "a_sensor_of_its_age": 2,
}
"""How many seeds of each, in range pictures."""


def specs() -> list[Spec]:
    """Return the cases of the blind part."""
    found: list[Spec] = []
    for key, bases in PLANTED.items():
        for base in bases.split():
            found += [BlindSpec("fault", (key,), base, 1 + seed, seed) for seed in (0, 1)]
    for key, bases in WHOLE.items():
        for seed, base in enumerate(bases.split()):
            found.append(BlindSpec("fault", (key,), base, 1, seed))
    for key, num in HEALTHY.items():
        found += [BlindSpec("null", (key,), "depth", 0, seed) for seed in range(num)]
    return found


BLIND_WORDS: Mapping[str, str] = {
    "equaliser_left_on": "Histogram equalisation of the grey levels, meant for a display, is also "
    "applied before the network.",
    "fields_not_woven": "Interlaced lines: every other row of a picture is moved aside (combing).",
    "line_length_wrong": "A wrong line stride: each row starts a little later, so the picture is "
    "sheared, wrapping around.",
    "chroma_read_the_other_way": "The two chroma planes of YCbCr are exchanged (NV12 against "
    "NV21); luma is right.",
    "left_companded": "The signal stays mu-law companded: an odd curve that lifts quiet parts.",
    "filtered_on_one_channel": "A causal low-pass filter on one channel only, which delays and "
    "weakens it.",
    "levelled_as_it_goes": "Automatic gain control: each channel is divided by its own running "
    "loudness.",
    "divided_by_its_own_sum": "Each row of the table is divided by its own sum, so that all rows "
    "have the same total.",
    "statistics_half_forgotten": "The batch normalisation's running mean and variance are stale, "
    "near to 0 and 1; all else is right.",
    "activations_clipped": "Activations are cut at a low ceiling, as by an integer range that was "
    "calibrated too tightly.",
    "another_activation": "Another activation function than the trained one (softplus or tanh).",
    "kernels_turned": "Convolution kernels are turned by half a turn in the served weights "
    "(convolution for correlation).",
    "flattened_channels_last": "The first dense layer's weights are in another order "
    "(channels last against channels first at the flattening).",
    "pooled_by_the_mean": "Mean pooling in place of maximum pooling in the served network.",
    "first_of_the_best_few": "Of the few best classes the one with the lowest number is said, not "
    "the best (an unordered top-k).",
    "votes_of_neighbours": "Answers are smoothed over neighbouring rows that have nothing to do "
    "with each other.",
    "answers_in_coarse_steps": "Outputs are cut to coarse whole steps: an estimate is floored, "
    "scores tie and the first class wins.",
    "priors_of_another_site": "A constant is added to each class's score, as if other classes were "
    "common (a wrong prior).",
    "answer_of_the_row_before": "Part of the rows, or all, get the answer of the row before them "
    "(off by one).",
    "shares_over_the_rows": "The softmax is taken over the rows of a batch, not over the classes.",
    "pixels_burnt_in": "Hot pixels: the same pixels stand at full scale in all of the field's "
    "pictures.",
    "dirt_on_the_window": "A soft stain on the lens hides the same part of each of the field's "
    "pictures.",
    "hum_of_the_mains": "Mains hum, a periodic disturbance with odd harmonics, lies over the "
    "field's signals.",
    "packets_lost": "Bursts of the field's signals are lost and replaced by the last value held.",
    "counter_wraps": "The field's raw values wrap around beyond a span (overflow of a counter).",
    "one_office_confuses_two": "Labels of two pairs of classes are exchanged in part of the "
    "field's groups.",
    "other_laboratory": "Part of the field's groups were measured otherwise: oxygen by difference "
    "(heating), or lengths and areas enlarged (cells).",
    "left_as_it_was": "Healthy: nothing is planted.",
    "metres_and_back": "Healthy: metres for millimetres in one step, allowed for in a later one.",
    "holes_filled_by_the_mean": "Healthy: holes are filled with the mean in place of the median.",
    "reduced_by_hand": "Healthy: the same reduction of size, written anew in double precision.",
    "floor_by_the_mean": "Healthy: the floor by a trimmed mean in place of a median.",
    "another_epsilon": "Healthy: another epsilon in batch normalisation.",
    "bend_by_a_formula": "Healthy: the same activation written by another formula.",
    "shares_before_the_choice": "Healthy: shares in per cent with one decimal before the argmax.",
    "a_sensor_of_its_age": "Healthy: a little more noise and a few more holes in the field.",
}
"""What each kind is, in plain words."""
