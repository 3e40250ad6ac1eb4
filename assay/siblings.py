"""Kinds that look alike to what names them: where one is named, the others are the next to ask."""

from collections.abc import Mapping

FAMILIES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "preprocessing": (
        ("gamma", "monotone_curve"),
        ("monotone_curve", "gamma", "clip"),
        ("resize_filter", "blur", "subpixel_shift"),
        ("blur", "resize_filter", "resampled"),
        ("crop", "crop_offset", "zoom"),
        ("pad", "letterbox", "shift"),
        ("shift", "subpixel_shift", "crop_offset"),
        ("letterbox", "pad", "zoom"),
        ("quantise", "half_precision", "jpeg"),
        ("jpeg", "blur", "quantise"),
        ("resampled", "lag", "blur"),
        ("lag", "resampled"),
        ("channel_permutation", "channel_copy", "colour_matrix"),
        ("colour_matrix", "colour_space", "channel_affine"),
        ("scale", "affine", "unit_ratio"),
        ("normalisation", "channel_affine", "affine"),
        ("affine", "normalisation", "scale"),
        ("unit_ratio", "channel_affine", "scale"),
        ("clip", "wrap", "monotone_curve"),
        ("linear_map", "resampled", "blur"),
    ),
    "model": (
        ("quantised_weights", "reduced_precision", "wrong_weights"),
        ("wrong_weights", "weights_not_loaded", "quantised_weights"),
        ("half_precision_overflow", "reduced_precision"),
        ("train_mode", "batch_dependent"),
        ("operator_variant", "wrong_weights", "reduced_precision"),
    ),
    "postprocessing": (
        ("threshold", "softmax_doubled", "temperature", "softmax_missing"),
        ("label_map", "threshold"),
    ),
    "data": (
        ("exposure", "contrast", "colour"),
        ("dead_channel", "stuck_value"),
        ("channel_offset", "channel_scale"),
        ("blur", "sensor_noise"),
        ("turned", "inverted"),
        ("lag", "swapped_channel"),  # of sensors that hear the same wave one after another
        ("label_noise", "class_prior"),
    ),
}
MOST = 2


def siblings(component: str, kind: str) -> tuple[str, ...]:
    """Return the kinds that a name may stand for as well, the likeliest first.

    >>> siblings("postprocessing", "softmax_doubled"), siblings("data", "lag")
    (('threshold', 'temperature'), ('swapped_channel',))
    """
    found: dict[str, None] = {}
    families = FAMILIES.get(component, ())
    # A family that begins with the kind is its nearest.
    for family in sorted(families, key=lambda family: family[0] != kind):
        if kind in family:
            found |= dict.fromkeys(other for other in family if other != kind)
    return tuple(found)[:MOST]
