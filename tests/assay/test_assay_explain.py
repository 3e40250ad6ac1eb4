import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assay.explain.library import explain
from assay.explain.turns import TURNS

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def pictures(seed=0, *, rows=6, height=12, width=12, channels=3, smooth=0):
    """Random pictures in [0, 1], HWC; each pass of `smooth` blurs, as real ones are."""
    images = np.random.default_rng(seed).random((rows, height, width, channels))
    for _ in range(smooth):
        images = sum(np.roll(images, by, axis) for axis in (1, 2) for by in (-1, 0, 1)) / 6
    low, high = images.min(), images.max()
    return (images - low) / (high - low)


def chw(images):
    return images.transpose(0, 3, 1, 2)


def wrapped(images):
    return (images * 400).astype(np.int64).astype(np.uint8)


PLANTED = [
    pytest.param(lambda x: x * 255, "scale", id="multiplied by 255"),
    pytest.param(lambda x: x / 255, "scale", id="divided by 255"),
    pytest.param(lambda x: x / 16, "scale", id="divided by 16"),
    pytest.param(lambda x: 2 * x - 1, "affine", id="to minus one to one"),
    pytest.param(lambda x: x + 0.5, "offset", id="offset"),
    pytest.param(lambda x: 1 - x, "invert", id="inverted"),
    pytest.param(lambda x: 255 - 255 * x, "invert", id="inverted and scaled"),
    pytest.param(lambda x: 0.731 * x + 0.117, "affine", id="unknown constants"),
    pytest.param(lambda x: (x - MEAN) / STD, "normalisation", id="imagenet"),
    pytest.param(lambda x: x * [1, 1.3, 1], "channel_affine", id="one channel rescaled"),
    pytest.param(lambda x: x * [1, 0, 1], "channel_constant", id="a dead channel"),
    pytest.param(lambda x: x[..., ::-1], "channel_permutation", id="bgr"),
    pytest.param(lambda x: x[..., [1, 2, 0]], "channel_permutation", id="channels rotated"),
    pytest.param(lambda x: x[..., [0, 0, 2]], "channel_copy", id="a channel read twice"),
    pytest.param(chw, "layout_transpose", id="axes moved"),
    pytest.param(lambda x: x.reshape(6, 3, 12, 12), "layout_reshape", id="axes only renamed"),
    pytest.param(lambda x: chw(x).reshape(x.shape), "layout_reshape", id="read in another layout"),
    pytest.param(lambda x: x.reshape(6, -1), "layout_reshape", id="flattened"),
    pytest.param(lambda x: np.roll(x, (2, -3), (1, 2)), "shift", id="rolled"),
    pytest.param(lambda x: x[:, [0, 0, *range(11)]][:, :12], "shift", id="one down, edge repeated"),
    pytest.param(lambda x: (x + np.roll(x, 1, 2)) / 2, "subpixel_shift", id="half a pixel"),
    pytest.param(lambda x: x**2.2, "gamma", id="gamma"),
    pytest.param(lambda x: x**0.77, "gamma", id="unknown gamma"),
    pytest.param(lambda x: np.sin(1.5 * x), "monotone_curve", id="a curve"),
    pytest.param(lambda x: np.rint(x * 255) / 255, "quantise", id="rounded to 256 levels"),
    pytest.param(lambda x: np.floor(x * 15) / 15, "quantise", id="cut down to 16 levels"),
    pytest.param(lambda x: x.astype(np.float16), "half_precision", id="half precision"),
    pytest.param(lambda x: np.clip(x, 0.2, 0.7), "clip", id="clipped"),
    pytest.param(lambda x: x[:, 1:11, 2:9], "crop", id="cropped"),
    pytest.param(lambda x: np.pad(x, ((0, 0), (1, 2), (3, 0), (0, 0))), "pad", id="padded"),
]


@pytest.mark.parametrize(("transform", "kind"), PLANTED)
def test_a_planted_transform_is_named(transform, kind):
    images = pictures()
    found = explain(images, transform(images))
    assert (found.kind, found.parts) == (kind, (kind,))
    assert found.residual_explained >= 0.99


@pytest.mark.parametrize(("slug", "_name", "turn"), TURNS, ids=[slug for slug, *_ in TURNS])
@pytest.mark.parametrize("layout", ["HW", "HWC", "CHW"])
def test_every_turn_is_named_in_every_layout(slug, _name, turn, layout):
    planes = chw(pictures())
    before, after = (
        {"HW": p[:, 0], "HWC": p.transpose(0, 2, 3, 1), "CHW": p}[layout]
        for p in (planes, turn(planes))
    )
    found = explain(before, after)
    assert (found.kind, found.alternatives) == (slug, ())


@pytest.mark.parametrize(
    ("reference", "candidate", "name"),
    [
        pytest.param(lambda x: x, lambda x: x * 255, "multiplied by 255", id="times 255"),
        pytest.param(lambda x: x * 255, lambda x: x, "multiplied by 1/255", id="over 255"),
        pytest.param(lambda x: x, lambda x: x * 256, "multiplied by 256", id="256 is not 255"),
        pytest.param(lambda x: 16 * x, lambda x: 16 - 16 * x, "inverted (x -> 16 - x)", id="of 16"),
        pytest.param(lambda x: x, lambda x: 2 * x - 1, "rescaled (x -> 2 x - 1)", id="2x - 1"),
        pytest.param(
            lambda x: x, lambda x: x[..., ::-1], "channels reversed (RGB<->BGR)", id="bgr"
        ),
        pytest.param(
            lambda x: (x - 0.5) / 0.5,
            lambda x: (x - MEAN) / STD,
            "normalised to ImageNet mean/std instead of mean .5, std .5",
            id="other normalisation",
        ),
        pytest.param(
            lambda x: x, lambda x: np.rint(x * 255) / 255, "rounded to steps of 1/255", id="bytes"
        ),
        pytest.param(lambda x: x * 400, wrapped, "cast to uint8 with wrap-around", id="wrap"),
        pytest.param(
            lambda x: x,
            lambda x: np.clip(2 * x, 0, 1),
            "multiplied by 2, then clipped above 1",
            id="overexposed",
        ),
    ],
)
def test_names_say_the_constants(reference, candidate, name):
    images = pictures()
    assert explain(reference(images), candidate(images)).name == name


def test_a_measured_shift_is_said_in_pixels():
    images = pictures(smooth=2, height=24, width=24)
    moved = 0.75 * images + 0.25 * np.roll(images, 1, 2)
    found = explain(images, np.roll(moved, 2, 1))
    assert (found.parameters["down"], found.parameters["right"]) == pytest.approx((2, 0.25))


def test_columns_of_a_table_are_assigned_and_units_are_named():
    table = np.random.default_rng(0).normal(size=(60, 12))
    order = [3, 1, 2, 0, *range(4, 12)]
    assert explain(table, table[:, order]).parameters["order"] == order
    other_unit = table * np.where(np.arange(12) == 5, 1000, 1)
    assert explain(table, other_unit).name == "column 5 multiplied by 1000"


MOVES = {
    "flip_horizontal": lambda x: x[:, :, ::-1],
    "rotate_90": lambda x: np.rot90(x, 1, axes=(1, 2)),
    "transpose": lambda x: x.swapaxes(1, 2),
    "channel_permutation": lambda x: x[..., [2, 0, 1]],
    "shift": lambda x: np.roll(x, (1, 2), (1, 2)),
    "layout_transpose": chw,
    "crop": lambda x: x[:, 1:11, 0:10],
}
MAPS = {
    "scale": lambda x: x * 255,
    "invert": lambda x: 1 - x,
    "affine": lambda x: 2 * x - 1,
    "gamma": lambda x: x**2.2,
}
SLOW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(st.integers(0, 10**6), st.sampled_from(sorted(MOVES)), st.sampled_from(sorted(MAPS)))
def test_a_move_and_a_map_are_both_recovered(seed, move, value_map):
    images = pictures(
        seed, rows=4, height=10 if move != "crop" else 14, width=10 if move != "crop" else 14
    )
    found = explain(images, MAPS[value_map](MOVES[move](images)))
    assert set(found.parts) == {move, value_map}


@SLOW
@given(st.integers(0, 10**6), st.permutations(sorted(MOVES)))
def test_two_moves_explain_two_moves(seed, order):
    first, second = [m for m in order if m not in {"layout_transpose", "crop"}][:2]
    turns = {"flip_horizontal", "rotate_90", "transpose"}
    assume(not {first, second} <= turns)  # two turns are one other turn
    images = pictures(seed, rows=4, height=10, width=10)
    found = explain(images, MOVES[second](MOVES[first](images)))
    # A turn may be told from the other side of a shift, but never by other kinds than these.
    assert len(found.parts) == 2
    assert {"shift", "channel_permutation"} & set(found.parts)
    assert found.residual_explained == pytest.approx(1)


@SLOW
@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 3), st.floats(-300, 300))
def test_unrelated_arrays_are_unknown(seed, grey, smooth, offset):
    reference = pictures(seed, smooth=smooth)
    candidate = pictures(seed + 1, smooth=smooth) + offset
    assert explain(*((a[..., 0] if grey else a) for a in (reference, candidate))) is None


@SLOW
@given(st.integers(0, 10**6), st.floats(0.12, 0.5))
def test_noise_is_unknown(seed, sigma):
    reference = pictures(seed, smooth=1)
    noise = np.random.default_rng(seed).normal(size=reference.shape) * sigma * reference.std()
    assert explain(reference, reference + noise) is None


def test_three_steps_are_composed():
    images = pictures()
    found = explain(images, 255 * images[:, ::-1, :, ::-1])
    assert found.parts == ("flip_vertical", "channel_permutation", "scale")
    assert explain(images, 255 * images[:, ::-1, :, ::-1], max_depth=2) is None


def test_symmetric_pictures_have_alternatives():
    images = pictures()
    symmetric = images + images[:, ::-1]  # upside down it is the same
    found = explain(symmetric, symmetric[:, :, ::-1])
    assert found.kind == "flip_horizontal"
    assert found.alternatives == ("rotated by 180 degrees",)


def test_grey_pictures_do_not_accuse_the_channels():
    grey = np.repeat(pictures(channels=1), 3, axis=3)
    found = explain(grey, grey[:, :, ::-1] / 255)
    assert found.parts == ("flip_horizontal", "scale")


def test_what_does_not_differ_is_said_so():
    images = pictures()
    assert explain(images, images.copy()).kind == "identity"


def test_a_constant_far_away_explains_nothing():
    reference = pictures()
    assert explain(reference, 200 + pictures(seed=1)) is None


def test_rows_that_are_not_finite_are_left_out():
    images = pictures()
    candidate = images * 255
    candidate[2, 0, 0, 0] = np.nan
    assert explain(images, candidate).kind == "scale"
    assert explain(images, np.full_like(images, np.nan)) is None


def test_all_rows_must_fit_not_only_those_searched(monkeypatch):
    monkeypatch.setattr("assay.explain.search.SEARCH_VALUES", 2)
    images = pictures()
    candidate = images * 255
    candidate[3] = pictures(seed=9)[0]
    assert explain(images, candidate) is None


def test_integers_do_not_wrap():
    images = (pictures() * 255).astype(np.uint8)
    assert (
        explain(images, (images / np.float32(255)).astype(np.float32)).name == "multiplied by 1/255"
    )
    assert explain(images, 255 - images).name == "inverted (x -> 255 - x)"


@pytest.mark.parametrize("shape", [(5, 12, 12, 3), (0, 12, 12, 3)], ids=["fewer rows", "no rows"])
def test_other_rows_are_refused(shape):
    with pytest.raises(ValueError, match="same rows"):
        explain(pictures(), np.zeros(shape))


def table(columns=3):
    return np.random.default_rng(0).random((60, columns))


def test_columns_are_called_by_their_names():
    rows, names = table(), ["mean radius", "area error", "x"]
    swapped = explain(rows, rows[:, [1, 0, 2]], names=names)
    assert swapped.name == (
        "columns in another order: mean radius from area error, area error from mean radius"
    )
    assert explain(rows, rows * [1, 1000, 1], names=names).name == "area error multiplied by 1000"
    assert explain(rows, rows[:, [2, 1, 0]]).name == "columns in another order: 0 from 2, 2 from 0"
    # Names of another number of columns are not these columns'.
    wide = explain(rows, rows[:, [1, 0, 2]], names=[*names, "y"])
    assert wide.name == "columns in another order: 0 from 1, 1 from 0"


def test_lines_of_channels_carry_their_numbers():
    rows = table(6)
    found = explain(rows, rows * [2, 0.4528, -1.7, 3.1, 5.3, 1] + [0, 0.12, -4, 0, 1, 0])
    assert found.name == (
        "each column rescaled on its own (column 0: x 2; column 1: x 0.4528 + 0.12; "
        "column 2: x -1.7 - 4; column 3: x 3.1; and 1 more)"
    )


def test_slopes_of_known_constants_are_named():
    images = pictures()
    found = explain(images, images / [0.229, 0.224, 0.225] + [0.3, 0.5, 0.1])
    assert found.name.startswith("each channel rescaled on its own (channel 0: x 4.367 + 0.3; ")
    assert "slopes as of ImageNet mean/std instead of range 0 to 1" in found.name
