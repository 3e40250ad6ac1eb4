"""What each kind of cause is called on the page."""

from stages.reports.suspect import Component

UNKNOWN = "unknown"
PREPROCESSING = {
    "layout_transpose": "axes in another order",
    "layout_reshape": "axes only renamed",
    "flip_horizontal": "mirrored left to right",
    "flip_vertical": "mirrored upside down",
    "rotate_90": "turned by 90 degrees",
    "rotate_180": "turned by 180 degrees",
    "rotate_270": "turned by 270 degrees",
    "transpose": "rows and columns exchanged",
    "anti_transpose": "mirrored at the other diagonal",
    "time_reversed": "read backwards",
    "channel_permutation": "channels in another order",
    "channel_copy": "one channel read in place of another",
    "channel_drop": "channels left out",
    "channel_add": "channels put in",
    "channel_repeat": "a channel repeated",
    "shift": "shifted",
    "subpixel_shift": "shifted by less than a pixel",
    "lag": "channels delayed",
    "crop": "another crop",
    "pad": "another padding",
    "crop_offset": "another piece of the same size",
    "blur": "blurred",
    "sharpen": "sharpened",
    "resize_filter": "another resize filter",
    "resampled": "resampled",
    "letterbox": "shrunk between bands",
    "zoom": "the middle stretched",
    "jpeg": "encoded as JPEG again",
    "colour_matrix": "colours mixed",
    "colour_space": "another colour space",
    "mean_removed": "each sample's mean taken off",
    "standardised_per_sample": "each sample standardised by itself",
    "scaled_per_sample": "each sample scaled by itself",
    "box_format": "boxes in another format",
    "linear_map": "a matrix along an axis",
    "scale": "multiplied",
    "offset": "an offset",
    "affine": "another scale and offset",
    "invert": "inverted",
    "normalisation": "another normalisation",
    "unit_ratio": "another unit",
    "channel_affine": "a scale and offset for each channel",
    "channel_constant": "a constant channel",
    "band_gain": "a factor for each band",
    "gamma": "another gamma",
    "monotone_curve": "another curve",
    "quantise": "rounded",
    "half_precision": "kept in half precision",
    "clip": "cut off",
    "wrap": "wrapped around",
    "code_table": "another table of codes",
    "missing_value": "another value for what is missing",
    "some_rows": "only some rows",
}
MODEL = {
    "half_precision_overflow": "half precision overflows",
    "reduced_precision": "reduced precision",
    "quantised_weights": "quantised weights",
    "train_mode": "the model still trains: batch norm or dropout left on",
    "batch_dependent": "an answer depends on the rest of its batch",
    "wrong_weights": "other weights than were trained",
    "weights_not_loaded": "weights that were not loaded",
    "operator_variant": "another variant of an operator",
}
POSTPROCESSING = {
    "label_map": "another label map",
    "threshold": "another threshold",
    "softmax_doubled": "softmax applied twice",
    "softmax_missing": "softmax left out",
    "temperature": "another temperature",
    "box_format": "another format of boxes",
    "output_scale": "numbers on another scale",
}
DATA = {
    "class_prior": "classes are another mix",
    "label_noise": "labels of the field are wrong",
    "sensor_noise": "noise of the sensor",
    "blur": "blur",
    "exposure": "exposure",
    "contrast": "contrast",
    "colour": "colour",
    "dead_channel": "a dead channel",
    "stuck_value": "a stuck value",
    "swapped_channel": "swapped channels",
    "channel_offset": "a channel's offset",
    "channel_scale": "a channel's scale or unit",
    "lag": "a delay between channels",
    "inverted": "inverted",
    "turned": "turned",
    "sim_to_real_gap": "the field shows what simulation does not",
    "leakage": "validation shares samples with training",
    "replay": "the reported figure is not reached",
}
BY_COMPONENT = {
    "preprocessing": PREPROCESSING,
    "model": MODEL,
    "postprocessing": POSTPROCESSING,
    "data": DATA,
    "deployment": MODEL | POSTPROCESSING,
}


def kind_title(component: Component | str, kind: str) -> str:
    """Name an answer to "what broke" in a few words.

    >>> kind_title("none", "none"), kind_title("model", "train_mode")[:28]
    ('nothing broke', 'model: the model still train')
    >>> kind_title("preprocessing", "flip_vertical+scale"), kind_title("data", "unknown")
    ('preprocessing: mirrored upside down, then multiplied', 'data: none of the known kinds')
    """
    if component == "none":
        return "nothing broke"
    if kind == UNKNOWN:
        return f"{component}: none of the known kinds"
    names = BY_COMPONENT.get(component, {})
    said = ", then ".join(names.get(part, part.replace("_", " ")) for part in kind.split("+"))
    return f"{component}: {said}"
