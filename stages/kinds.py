"""What each kind of cause is called on the page."""

from stages.reports.suspect import Component

UNKNOWN = "unknown"
PREPROCESSING = {
    "transpose": "rows and columns exchanged",
    "flip": "mirrored",
    "turn": "turned",
    "layout": "another layout of the axes",
    "channel_order": "channels in another order",
    "shift": "shifted",
    "subpixel_shift": "shifted by less than a pixel",
    "crop": "another crop",
    "pad": "another padding",
    "letterbox": "letterbox or stretch",
    "resize_filter": "another resize filter",
    "multiplied": "multiplied",
    "offset": "an offset",
    "affine": "another scale and offset",
    "normalisation": "another normalisation",
    "gamma": "another gamma",
    "monotone_curve": "another curve of brightness",
    "colour_matrix": "colours mixed",
    "quantise": "quantised",
    "rounding": "rounded",
    "clip": "clipped",
    "wrap": "wrapped around",
    "jpeg": "encoded as JPEG again",
    "blur": "blurred",
    "resampled": "resampled",
    "column_order": "columns in another order",
    "unit_ratio": "another unit",
    "lag": "channels delayed",
    "some_rows": "only some rows",
    "missing_value": "another value for what is missing",
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
    >>> kind_title("preprocessing", "flip+multiplied"), kind_title("data", "unknown")
    ('preprocessing: mirrored, then multiplied', 'data: none of the known kinds')
    """
    if component == "none":
        return "nothing broke"
    if kind == UNKNOWN:
        return f"{component}: none of the known kinds"
    names = BY_COMPONENT.get(component, {})
    said = ", then ".join(names.get(part, part.replace("_", " ")) for part in kind.split("+"))
    return f"{component}: {said}"
